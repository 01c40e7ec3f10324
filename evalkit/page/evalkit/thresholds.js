// Thresholds: a slider over the counts of every system; the costs of errors move the cheapest threshold.
function decimals(column) { // two digits of the narrowest interval, as in evalkit/numbers.py
  const least = list => Math.min(...list.filter(size => size > 1e-12)), width = least(column.map(e => e[2] - e[1])), end = least(column.flatMap(e => e.slice(1)));
  const places = Math.max(0, 1 - Math.floor(Math.log10(width))), hidden = more => end < 0.5 * 10 ** -(places + more);
  return width < Infinity ? places + hidden(0) + hidden(1) : 3;
}
all("[data-sweep]").forEach(sweep => {
  const {z, q, at, costs, systems} = JSON.parse(sweep.dataset.sweep), rows = [...sweep.querySelector("tbody").rows], square = z * z;
  const wilson = (k, n) => {
    const half = z * Math.sqrt(k * (1 - k / n) + square / 4), limit = side => (k + square / 2 + side * half) / (n + square);
    return q ? [k / n, k && limit(-1), k < n ? limit(1) : 1] : [k / n];
  };
  const mean = (values, times, n) => { // corrected for skewness, as in evalkit/statistics/means.py
    const sum = (power, centre) => values.reduce((total, value, i) => total + times[i] * (value - centre) ** power, 0), m = sum(1, 0) / n;
    if (values.every((value, i) => !times[i] || value === 0 || value === 1)) return wilson(m * n, n);
    const spread = sum(2, m), skew = spread && sum(3, m) / n / (spread / n) ** 1.5, limit = t => {
      const u = t / Math.sqrt(n) - skew / 6 / n, root = Math.cbrt(1 + skew * u);
      return m - Math.sqrt(spread / (n - 1)) * 3 * u / (root * root + root + 1);
    };
    return q ? [m, limit(q), limit(-q)] : [m];
  };
  const price = costs.map((value, i) => make("input", {type: "number", min: 0, step: "any", value, ariaLabel: "Cost of a false " + ["positive", "negative"][i]}));
  const measured = (s, i) => {
    const tp = s.tp[i], fp = s.fp[i], fn = s.positives - tp, tn = s.negatives - fp, n = tp + fp + fn + tn, picked = tp + fp, hits = wilson(tp, picked + fn);
    return [[tp], [fp], [fn], [tn], wilson(tp, picked), wilson(tp, tp + fn), hits.map(j => 2 * j / (1 + j)), wilson(picked, n), mean([0, +price[0].value, +price[1].value], [tp + tn, fp, fn], n)];
  };
  const slider = make("input", {type: "range", max: at.length - 1, ariaLabel: "Threshold"}), said = make("output"), named = i => i ? fixed(at[i]) : "∞";
  systems.forEach(s => [s.tp, s.fp].forEach(sums => sums.forEach((step, i) => { sums[i] = step + (i && sums[i - 1]); })));
  const show = () => {
    const i = +slider.value, every = systems.map(s => measured(s, i));
    slider.ariaValueText = said.value = named(i);
    every.forEach((estimates, r) => estimates.forEach((e, c) => {
      const places = c < 4 ? e[0] % 1 && 2 : decimals(every.map(row => row[c])), text = value => fixed(value, places);
      rows[r].cells[1].textContent = named(i);
      rows[r].cells[c + 2].innerHTML = text(e[0]) + (e[1] >= 0 ? ` <wbr><span class="ci">[${text(e[1])}, ${text(e[2])}]</span>` : "");
    }));
    rows.forEach((row, r) => {
      const all = systems[r].tp.map((_, j) => measured(systems[r], j).at(-1)[0]), best = all.indexOf(Math.min(...all));
      row.cells[11].replaceChildren(press(named(best), () => choose(best)));
    });
  };
  const choose = i => {
    slider.value = i;
    remember("threshold", at[i] || "none", sweep);
    remember("costs", price.map(input => input.value).join(), sweep);
    show();
  };
  [slider, ...price].forEach(input => { input.oninput = () => choose(+slider.value); });
  const head = sweep.querySelector("thead tr");
  head.append(make("th", {scope: "col", textContent: "least cost at"}));
  rows.forEach(row => row.insertCell());
  sweep.prepend(make("div", {className: "tools"}, make("label", {}, "Threshold ", slider), said, ...price.map((input, i) => make("label", {}, ["False positive costs ", "false negative costs "][i], input))));
  readers.push(() => {
    const kept = state.get("threshold"), i = at.findIndex(value => String(value) === kept);
    slider.value = Math.max(i, 0);
    (state.get("costs") || "").split(",").forEach((value, j) => { if (value) price[j].value = value; });
    if (kept) show();
  });
});
