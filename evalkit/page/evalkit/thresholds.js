// Thresholds: a slider over the counts of every system; the costs of errors and a target move the cheapest threshold.
// It moves the marks of the curves, of which the threshold of any point is told.
let told = () => "";
all("[data-sweep]").forEach(sweep => {
  const {z, q, units, named, places, systems} = JSON.parse(sweep.dataset.sweep), at = named.split(" "), [slider, ...fields] = all("input, select", sweep), [said] = all("output", sweep), rows = all("tbody tr", sweep), z2 = z * z;
  const set = () => fields.map(({value}) => value);
  const wilson = (k, n) => {
    const half = z * (k * (1 - k / n) + z2 / 4) ** .5, limit = side => (k + z2 / 2 + side * half) / (n + z2);
    return [k / n, limit(-1), limit(1)];
  };
  const mean = (fp, fn, n, [x, xy, y] = []) => { // of the costs of rows
    const [a, b] = set().map(Number), m = (a * fp + b * fn) / n, top = a > b ? a : b;
    if (units) { // as in evalkit/statistics/moving_cut.py
      const half = q * (a * a * x + a * b * xy + b * b * y) ** .5 * top / m / (top - m);
      return half > 0 ? [m, ...[1, -1].map(side => top / (1 + (top / m - 1) * Math.exp(side * half)))] : wilson(m / top * units, units).map(k => k * top);
    }
    if (!(fp * a * (a - 1) || fn * b * (b - 1))) return wilson(m * n, n);
    const sum = k => fp * (a - m) ** k + fn * (b - m) ** k + (n - fp - fn) * (-m) ** k, v = sum(2) / n, skew = sum(3) / n / v ** 1.5;
    const df = Math.min(n - 1, 2 * n / skew ** 2), t = z * (1 + (z2 + 1 + ((5 * z2 + 16) * z2 + 3) / 24 / df) / 4 / df); // the quantile of t, by Fisher's expansion
    return [m, ...[t, -t].map(side => { // corrected for skewness as in evalkit/statistics/means.py
      const u = side / n ** .5 - skew / 6 / n, root = Math.cbrt(1 + skew * u);
      return m - (v * n / (n - 1)) ** .5 * 3 * u / (root ** 2 + root + 1);
    })];
  };
  const metrics = ({P, N, ...s}, i) => {
    const tp = s.tp[i], fp = s.fp[i], fn = P - tp, n = P + N;
    const shares = [wilson(tp, tp + fp), wilson(tp, P), wilson(tp, P + fp).map(j => 2 * j / (1 + j)), wilson(tp + fp, n)];
    s.limits?.[i].forEach((limits, c) => shares[c].splice(1, 2, ...limits));
    return [[tp], [fp], [fn], [N - fp], ...shares, mean(fp, fn, n, s.spread?.[i])];
  };
  const chosen = rows.map(row => at.indexOf(words(row.cells[1]))); // the place of each system's threshold
  const names = rows.map(row => words(row.cells[0]));
  const spot = (r, i, x) => { // where a threshold is on the curve along x
    const {P, N, tp: {[i]: tp}, fp: {[i]: fp}} = systems[r], n = P + N, [a, b] = fields, recall = tp / P;
    return {"false positive rate": [fp / N, recall], recall: [recall, tp / (tp + fp)], "share of rows predicted positive": [(tp + fp) / n, (a.defaultValue * fp + b.defaultValue * (P - tp)) / n]}[x];
  };
  const show = () => systems.forEach((s, r) => {
    metrics(s, chosen[r]).forEach((e, c) => {
      const [value, low, high] = e.map(number => fixed(number, places[c]));
      rows[r].cells[1].textContent = at[chosen[r]];
      rows[r].cells[c + 2].innerHTML = value + (e[0] + e[2] >= 0 ? ` <wbr><span class=ci>[${low}, ${high}]</span>` : "");
    });
    all(".axes").forEach(({dataset}, i, axes) => {
      const [mark] = all("[data-series] use", axes[i]).filter(use => use.closest("[data-series]").dataset.series === names[r]);
      if (mark) spot(r, chosen[r], dataset.xIs)?.forEach((number, i) => {
        const [start, step] = dataset["xy"[i]].split(" ");
        if (!isNaN(number)) mark.setAttribute("xy"[i], (number - start) / step);
      });
    });
  });
  told = (name, x, a, b) => {
    const r = names.indexOf(name), far = i => { const [c, d] = spot(r, i, x); return Math.hypot(a - c, b - d) || 0; };
    if (!systems[r] || !spot(r, 0, x)) return "";
    const i = at.reduce((best, _, i) => far(i) < far(best) ? i : best, 0);
    return `\nthreshold ≈ ${at[i]}` + (x[0] === "f" ? `\nprecision ≈ ${fixed(spot(r, i, "recall")[1], 2)}` : "");
  };
  const weigh = () => rows.forEach((row, r) => { // the cheapest threshold of each system that keeps the target
    const least = set()[3], costs = at.map((_, i) => metrics(systems[r], i)).map(e => !least || e[fields[2].selectedIndex + 4][0] >= least ? e[8][0] : 1 / 0), best = costs.lastIndexOf(Math.min(...costs));
    row.cells[11].replaceChildren(costs[best] < 1 / 0 ? make("button", {textContent: `${at[best]} (${fixed(costs[best], places[8])})`, onclick: () => choose(best)}) : "–");
  });
  const choose = place => { // for all systems
    slider.value = place;
    sweep.oninput({target: slider});
  };
  sweep.oninput = ({target}) => {
    if (target === slider) chosen.fill(slider.value); else weigh();
    said.value = at[slider.value];
    show();
    keep("threshold", [said.value, ...set()].join("_"), sweep);
  };
  const [first, ...values] = state.get("threshold")?.split("_") || [];
  slider.value = chosen[0];
  values.forEach((value, i) => { fields[i].value = value; });
  setTimeout(weigh); // after the first paint
  if (first) choose(at.indexOf(first)); // the lowest where it is not there
});
