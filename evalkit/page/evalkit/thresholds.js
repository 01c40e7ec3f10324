// Thresholds: the counts of every system at a few hundred of them; a slider chooses one, costs move the best.
function decimals(estimates) { // two digits of the narrowest interval, as evalkit/numbers.py
  const widths = estimates.map(e => e[2] - e[1]).filter(width => width > 1e-12), ends = estimates.flatMap(e => e.slice(1)).filter(Boolean);
  if (!widths.length) return 3;
  const places = Math.max(0, 1 - Math.floor(Math.log10(Math.min(...widths)))), hidden = more => Math.min(...ends) < 0.5 * 10 ** -(places + more);
  return places + hidden(0) + hidden(1);
}
all("[data-sweep]").forEach(box => {
  const {z, q, at, costs, systems} = JSON.parse(box.dataset.sweep), table = box.querySelector("table");
  const number = label => make("input", {type: "number", min: 0, step: "any", ariaLabel: label});
  const slider = make("input", {type: "range", max: at.length - 1, ariaLabel: "Threshold"}), price = ["false positive", "false negative"].map(number), said = make("output");
  const limits = (value, low, high) => q ? [value, low, high] : [value];
  const wilson = (k, n) => {
    const p = k / n, middle = k + z * z / 2, half = z * Math.sqrt(k * (1 - p) + z * z / 4);
    return limits(p, k ? (middle - half) / (n + z * z) : 0, k < n ? (middle + half) / (n + z * z) : 1);
  };
  const mean = (values, rows, n) => { // corrected for skewness (Hall), as evalkit/statistics/means.py
    const sum = f => values.reduce((total, value, i) => total + rows[i] * f(value), 0), m = sum(v => v) / n;
    if (values.every((v, i) => !rows[i] || v === 0 || v === 1)) return wilson(sum(v => v), n);
    const square = sum(v => (v - m) ** 2), skew = square && sum(v => (v - m) ** 3) / n / (square / n) ** 1.5;
    const end = t => { const u = t / Math.sqrt(n) - skew / 6 / n, root = Math.cbrt(1 + skew * u); return m - Math.sqrt(square / (n - 1)) * 3 * u / (root * root + root + 1); };
    return limits(m, end(q), end(-q));
  };
  systems.forEach(s => ["tp", "fp"].forEach(side => s[side].reduce((sum, step, i) => (s[side][i] = sum + step), 0)));
  const cost = (s, i) => price[0].value * s.fp[i] + price[1].value * (s.positives - s.tp[i]);
  ...
});
