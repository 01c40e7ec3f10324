// Thresholds: a slider over the counts of every system; the costs of errors and a target move the cheapest threshold.
all("[data-sweep]").forEach(sweep => {
  const {z, q, units, named, places, systems} = JSON.parse(sweep.dataset.sweep), at = named.split(" "), [slider, ...fields] = all(".sweep input, .sweep select", sweep), [said] = all("output", sweep), rows = all("tbody tr", sweep), square = z * z;
  const set = () => fields.map(field => field.value);
  const wilson = (k, n) => {
    const half = z * Math.sqrt(k * (1 - k / n) + square / 4), limit = side => (k + square / 2 + side * half) / (n + square);
    return [k / n, limit(-1) * !!k, k < n ? limit(1) : 1];
  };
  const mean = (fp, fn, n, [x, xy, y] = []) => { // of the costs of rows
    const [a, b] = set().map(Number), m = (a * fp + b * fn) / n, top = a > b ? a : b;
    if (units) { // as in evalkit/statistics/moving_cut.py
      const half = q * Math.sqrt(a * a * x + a * b * xy + b * b * y) * top / m / (top - m);
      return half > 0 ? [m, ...[1, -1].map(side => top / (1 + (top / m - 1) * Math.exp(side * half)))] : wilson(m / top * units, units).map(share => share * top);
    }
    if (!(fp * a * (a - 1) || fn * b * (b - 1))) return wilson(m * n, n);
    const sum = power => fp * (a - m) ** power + fn * (b - m) ** power + (n - fp - fn) * (-m) ** power, squares = sum(2), skew = sum(3) / n / (squares / n) ** 1.5;
    return [0, q, -q].map(t => { // corrected for skewness as in evalkit/statistics/means.py
      const u = t / Math.sqrt(n) - skew / 6 / n, root = Math.cbrt(1 + skew * u);
      return m - (t && Math.sqrt(squares / (n - 1)) * 3 * u / (root * root + root + 1));
    });
  };
  const measured = (s, i) => {
    const tp = s.tp[i], fp = s.fp[i], fn = s.positives - tp, n = s.positives + s.negatives;
    const shares = [wilson(tp, tp + fp), wilson(tp, s.positives), wilson(tp, s.positives + fp).map(j => 2 * j / (1 + j)), wilson(tp + fp, n)];
    s.limits?.[i].forEach((limits, c) => shares[c].splice(1, 2, ...limits));
    return [[tp], [fp], [fn], [s.negatives - fp], ...shares, mean(fp, fn, n, s.spread?.[i])];
  };
  const show = () => systems.forEach((s, r) => measured(s, slider.value).forEach((e, c) => {
    const [value, low, high] = e.map(number => fixed(number, places[c]));
    said.value = rows[r].cells[1].textContent = at[slider.value];
    rows[r].cells[c + 2].innerHTML = value + (e[0] + e[2] >= 0 ? ` <wbr><span class="ci">[${low}, ${high}]</span>` : "");
  }));
  const weigh = () => rows.map((row, r) => { // the cheapest threshold of each system that keeps the target
    const least = set()[3], costs = at.map((_, i) => measured(systems[r], i)).map(e => least && !(e[fields[2].selectedIndex + 4][0] >= least) ? 1 / 0 : e[8][0]), best = costs.indexOf(Math.min(...costs));
    row.cells[11].replaceChildren(costs[best] < 1 / 0 ? make("button", {textContent: at[best], onclick: () => choose(best)}) : "–");
    return best;
  });
  const choose = place => {
    slider.value = place;
    remember("threshold", [at[place], ...set()].join("_"), sweep);
    show();
  };
  sweep.oninput = ({target}) => choose(target === slider ? slider.value : weigh()[0]);
  const kept = state.get("threshold"), [first, ...values] = (kept || words(rows[0].cells[1])).split("_");
  slider.value = at.indexOf(first); // the first of all where it is not there
  values.forEach((value, i) => { fields[i].value = value; });
  weigh();
  if (kept) show();
});
