// Thresholds: a slider over the counts of every system; the costs of errors move the cheapest threshold.
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
  const places = [...rows[0].cells].slice(2).map(cell => (/\.\d+/.exec(cell.textContent) || ".")[0].length - 1);
  const slider = make("input", {type: "range", max: at.length - 1, ariaLabel: "Threshold"}), said = make("output"), named = i => i ? String(at[i]).replace("-", "−") : "∞";
  systems.forEach(s => [s.tp, s.fp].forEach(sums => sums.forEach((step, i) => { sums[i] = step + (i && sums[i - 1]); })));
  const show = () => {
    const i = +slider.value, every = systems.map(s => measured(s, i));
    slider.ariaValueText = said.value = named(i);
    every.forEach((estimates, r) => estimates.forEach((e, c) => {
      const text = value => fixed(value, places[c]);
      rows[r].cells[1].textContent = named(i);
      rows[r].cells[c + 2].innerHTML = text(e[0]) + (e[1] >= 0 ? ` <wbr><span class="ci">[${text(e[1])}, ${text(e[2])}]</span>` : "");
    }));
  };
  const weigh = () => rows.forEach((row, r) => {
    const cost = at.map((_, i) => measured(systems[r], i)[8][0]), best = cost.indexOf(Math.min(...cost));
    row.cells[11].replaceChildren(press(named(best), () => { slider.value = best; choose(); }));
  });
  const choose = () => {
    remember("threshold", at[slider.value] || "none", sweep);
    remember("costs", price.map(input => input.value).join("_"), sweep);
    weigh();
    show();
  };
  [slider, ...price].forEach(input => { input.oninput = choose; });
  const head = sweep.querySelector("thead tr");
  head.append(make("th", {scope: "col", textContent: "least cost at"}));
  rows.forEach(row => row.insertCell());
  sweep.prepend(make("div", {className: "tools"}, make("label", {}, "Threshold ", slider), said, ...price.map((input, i) => make("label", {}, ["False positive costs ", "false negative costs "][i], input))));
  readers.push(() => {
    const kept = state.get("threshold");
    slider.value = Math.max(0, at.indexOf(+(kept || plain(rows[0].cells[1].textContent))));
    if (state.has("costs")) state.get("costs").split("_").forEach((value, j) => { price[j].value = value; });
    weigh();
    if (kept) show();
  });
});
