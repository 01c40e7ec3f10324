// Figures: what is drawn under the pointer or at the keyboard, in words; one system alone, by its name in the legend.
const corners = path => {
  let x = 0, y = 0;
  const lines = path.getAttribute("d").replace(/h([^a-z]+)/g, "l$1 0").replace(/v/g, "l0 ");
  return [...lines.matchAll(/([Ml])(-?[\d.]+)\s?(-?[\d.]+)/g)].map(([, step, a, b]) => [x, y] = [x * (step > "M") + a * 1, y * (step > "M") + b * 1]);
};
const scale = text => { // from a place in the figure to the number there, with the digits that a tenth of a point tells
  const [low, high, start, end] = text.split(" "), step = (high - low) / (end - start);
  return place => fixed(+low + (place - start) * step, Math.max(0, Math.floor(1 - Math.log10(Math.abs(step)))));
};
const across = (points, x) => points.flatMap(([a, b], i) => { // where an outline is at x
  const [c, d] = points[(i + 1) % points.length];
  return (a - x) * (c - x) > 0 ? [] : a === c ? b : b + (d - b) * (x - a) / (c - a);
}).sort((a, b) => b - a);
const points = figure => all("[data-series]", figure).flatMap(group => {
  const {series, says} = group.dataset, axes = group.closest(".axes"), {x, xIs, y, yIs} = axes.dataset, uses = all("use", group), lines = says && says.split("\n");
  const places = uses[0] ? uses.map(use => [use.x.baseVal.value, use.y.baseVal.value]) : corners(group.querySelector("path"));
  const band = all("[data-band]", axes).find(each => each.dataset.band === series);
  return places.slice(0, lines && lines.length).map(([a, b], i) => ({group, series, a, b, only: lines && !lines[1], text: () => {
    if (lines) return lines[i];
    const of = scale(y), limits = band ? across(corners(band.querySelector("path")), a).map(place => of(place + band.querySelector("use").y.baseVal.value)) : [];
    return `${series}\n${xIs} ${scale(x)(a)}\n${yIs} ${of(b)}` + (limits[1] ? ` [${limits[0]}, ${limits.at(-1)}]` : "");
  }}));
});
all("figure").forEach(figure => {
  if (!figure.querySelector("[data-series]")) return;
  const tip = make("div", {className: "tip", role: "status"});
  let every, now, only;
  const known = () => every = every || points(figure);
  const focus = name => {
    only = name;
    all("[data-series], [data-band], [data-legend]", figure).forEach(part => part.classList.toggle("away", !!name && !Object.values(part.dataset).includes(name)));
  };
  const show = point => {
    now = point;
    tip.textContent = point ? point.text().trim() : "";
    if (!point) return;
    const box = figure.getBoundingClientRect(), {x, y} = new DOMPoint(point.a, point.b).matrixTransform(point.group.getScreenCTM());
    tip.style.cssText = `left: ${x - box.x}px; top: ${y - box.y}px; --side: ${x - box.x > box.width / 2 ? -100 : 0}%`;
  };
  figure.tabIndex = 0;
  figure.append(tip);
  figure.onpointermove = event => {
    const svg = event.target.closest("svg"), own = event.target.closest("[data-series]");
    if (!svg) return show();
    const {x, y} = new DOMPoint(event.clientX, event.clientY).matrixTransform(svg.getScreenCTM().inverse());
    const far = point => point.group.ownerSVGElement !== svg ? 99 : point.only && point.group === own ? 0 : Math.hypot(point.a - x, point.b - y);
    const near = known().reduce((a, b) => far(b) < far(a) ? b : a);
    show(far(near) < 24 ? near : null);
  };
  figure.onpointerleave = figure.onblur = () => show();
  figure.onclick = event => {
    const part = event.target.closest("[data-legend]");
    if (part) focus(part.dataset.legend === only ? "" : part.dataset.legend);
  };
  figure.onkeydown = event => {
    const [step, turn] = {ArrowRight: [1], ArrowLeft: [-1], ArrowDown: [1, 1], ArrowUp: [-1, 1], Escape: [0]}[event.key] || [];
    if (step == null || event.target !== figure) return;
    event.preventDefault();
    let i = known().indexOf(now), from = now && now.group;
    do i = (i + step + every.length) % every.length; while (turn && every[i].group === from);
    show(step ? every[i] : null);
    focus(now && now.series);
  };
});
