// Thresholds: a slider over the counts of every system; the costs of errors move the cheapest threshold.
all("[data-sweep]").forEach(sweep => {
  const {z, q, named, places, systems} = JSON.parse(sweep.dataset.sweep), at = named.split(" "), [slider, ...price] = all(".sweep input", sweep), [said] = all("output", sweep), rows = all("tbody tr", sweep), square = z * z;
  const wilson = (k, n) => {
    const half = z * Math.sqrt(k * (1 - k / n) + square / 4), limit = side => (k + square / 2 + side * half) / (n + square);
    return [k / n, limit(-1) * !!k, k < n ? limit(1) : 1];
  };
  const mean = (fp, fn, n) => { // of the costs of rows, corrected for skewness as in evalkit/statistics/means.py
    const [a, b] = price.map(input => +input.value), m = (a * fp + b * fn) / n;
    if (!(fp * a * (a - 1) || fn * b * (b - 1))) return wilson(m * n, n);
    const sum = power => fp * (a - m) ** power + fn * (b - m) ** power + (n - fp - fn) * (0 - m) ** power, spread = sum(2), skew = sum(3) / n / (spread / n) ** 1.5;
    return [0, q, q * -1].map(t => {
      const u = t / Math.sqrt(n) - skew / 6 / n, root = Math.cbrt(1 + skew * u);
      return m - (t && Math.sqrt(spread / (n - 1)) * 3 * u / (root * root + root + 1));
    });
  };
  const measured = (s, i) => {
    const tp = s.tp[i], fp = s.fp[i], fn = s.positives - tp, n = s.positives + s.negatives, picked = tp + fp;
    return [[tp], [fp], [fn], [s.negatives - fp], wilson(tp, picked), wilson(tp, s.positives), wilson(tp, s.positives + fp).map(j => 2 * j / (1 + j)), wilson(picked, n), mean(fp, fn, n)];
  };
  systems.forEach(s => [s.tp, s.fp].forEach(sums => sums.forEach((step, i) => { sums[i] = step + (i && sums[i - 1]); })));
  const show = () => {
    const i = slider.value, every = systems.map(s => measured(s, i));
    said.value = at[i];
    every.forEach((estimates, r) => estimates.forEach((e, c) => {
      const text = value => fixed(value, places[c]);
      rows[r].cells[1].textContent = at[i];
      rows[r].cells[c + 2].innerHTML = text(e[0]) + (e[1] <= e[0] ? ` <wbr><span class="ci">[${text(e[1])}, ${text(e[2])}]</span>` : "");
    }));
  };
  const weigh = () => rows.forEach((row, r) => {
    const cost = at.map((_, i) => measured(systems[r], i)[8][0]), best = cost.indexOf(Math.min(...cost));
    row.cells[11].replaceChildren(make("button", {textContent: at[best], onclick: () => { slider.value = best; choose(); }}));
  });
  const choose = () => {
    remember("threshold", [at[slider.value], ...price.map(input => input.value)].join("_"), sweep);
    weigh();
    show();
  };
  sweep.oninput = choose;
  const kept = state.get("threshold"), [first, ...costs] = (kept || words(rows[0].cells[1])).split("_");
  slider.value = Math.max(0, at.indexOf(first));
  costs.forEach((value, i) => { price[i].value = value; });
  weigh();
  if (kept) show();
});
