// Figures: what is drawn under the pointer or at the keyboard, in words; one system alone, by its name in the legend.
const corners = group => {
  let x = 0, y = 0;
  return [...group.querySelector("path").getAttribute("d").matchAll(/([Ml])(-?[\d.]+)\s?(-?[\d.]+)/g)].map(([, step, a, b]) => [x, y] = [x * (step > "M") + a * 1, y * (step > "M") + b * 1]);
};
const scale = text => { // from a place in the figure to the number there
  const [start, step, places] = text.split(" ");
  return place => fixed(+start + place * step, places);
};
const across = (points, x) => points.flatMap(([a, b], i) => { // where an outline is at x
  const [c, d] = points[(i + 1) % points.length];
  return (a - x) * (c - x) > 0 ? [] : a === c ? b : b + (d - b) * (x - a) / (c - a);
}).sort((a, b) => b - a);
const points = figure => all("[data-series]", figure).flatMap(group => {
  const {series, says} = group.dataset, axes = group.closest(".axes"), {x, xIs, y, yIs} = axes.dataset, uses = all("use", group), lines = says?.split("\n");
  const places = uses[0] ? uses.map(use => [use.x.baseVal.value, use.y.baseVal.value]) : corners(group), box = group.getBBox();
  if (lines && !uses[0]) places[0] = [box.x + box.width / 2, box.y];
  const band = all("[data-limits]", axes).find(each => each.dataset.limits === series);
  return places.slice(0, lines?.length).map(([a, b], i) => ({group, series, a, b, text: () => {
    if (lines) return lines[i];
    const of = scale(y), limits = band ? across(corners(band), a).map(place => of(place + (band.querySelector("use")?.y.baseVal.value || 0))) : [];
    return `${series}\n${xIs} ${scale(x)(a)}\n${yIs} ${of(b)}` + (limits[1] ? ` [${limits[0]}, ${limits.at(-1)}]` : "");
  }}));
});
all("figure:has([data-series])").forEach(figure => {
  const tip = make("div", {className: "tip", role: "status"});
  let every, now, only;
  const known = () => every ||= points(figure);
  const focus = name => {
    only = only === name ? null : name;
    all("[data-series],[data-limits],[data-key]", figure).forEach(part => part.classList.toggle("away", only > "" && !Object.values(part.dataset).includes(only)));
  };
  const show = point => {
    now = point;
    tip.textContent = point?.text().trim() || "";
    if (!point) return;
    const box = figure.getBoundingClientRect(), {x, y} = new DOMPoint(point.a, point.b).matrixTransform(point.group.getScreenCTM());
    tip.style = `left:${x - box.x}px;top:${y - box.y}px;--side:${x - box.x > box.width / 2 ? -100 : 0}%`;
  };
  figure.tabIndex = 0;
  figure.append(tip);
  figure.onpointermove = event => {
    const svg = event.target.closest("svg");
    if (!svg) return show();
    const {x, y} = new DOMPoint(event.clientX, event.clientY).matrixTransform(svg.getScreenCTM().inverse());
    const far = point => point.group.ownerSVGElement === svg && !point.group.classList[0] ? Math.hypot(point.a - x, point.b - y) : 1e9;
    show(known().reduce((a, b) => far(b) < far(a) ? b : a));
  };
  figure.onpointerleave = figure.onblur = () => show();
  figure.onclick = ({target}) => focus(target.closest("[data-key]")?.dataset.key);
  figure.onkeydown = event => { // left and right go along a system, up and down to another, Enter shows it alone
    const way = ["ArrowLeft", "ArrowUp", "Enter", "ArrowDown", "ArrowRight"].indexOf(event.key) - 2, groups = [...new Set(known().map(point => point.group))];
    if (event.target !== figure || way < -2) return;
    event.preventDefault();
    const step = (list, at, by) => list.at((list.indexOf(at) + by) % list.length), next = step(groups, now?.group, way);
    if (way) show(way % 2 ? every.find(point => point.group === next) : step(every, now, way / 2)); else focus(now?.series);
  };
});
