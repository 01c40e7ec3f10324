// Tables: sort by a column, filter rows, fold long ones, copy.
const FEW = 12, NUMBER = "([+−]?(?:\\d[\\d,]*(?:\\.\\d+)?(?:e[+-]?\\d+)?|∞)|–)", START = RegExp("^<?" + NUMBER), WHOLE = RegExp(`^${NUMBER}$`);
const ESTIMATE = RegExp(`^${NUMBER} \\[${NUMBER}, ${NUMBER}\\](.*)`);
const words = cell => make("p", {innerHTML: cell.innerHTML.replace(/<br>|<div.*<\/div>/gs, " ")}).textContent.trim().replace(/\s+/g, " ");
const plain = text => text.replace(/,/g, "").replace("−", "-").replace("∞", "Infinity").replace("–", "");
function sorted(rows, column, sign) { // by the first number of the cells, else by their words; missing ones last
  const pairs = rows.map(row => [words(row.cells[column]), row]), lacks = text => !text || text === "–";
  const numeric = pairs.every(([text]) => lacks(text) || START.test(text)), value = text => plain(START.exec(text)[1]);
  const order = (a, b) => numeric ? value(a) - value(b) || 0 : a.localeCompare(b, "en", {numeric});
  return pairs.sort(([a], [b]) => lacks(a) - lacks(b) || !lacks(a) && sign * order(a, b)).map(pair => pair[1]);
}
const SIGNS = {"−": "-", "↑": "\\uparrow", "↓": "\\downarrow", "→": "\\to", "∞": "\\infty", "\\": "\\backslash", "^": "\\hat{}", "~": "\\sim"};
const latex = text => text.replace(/[&%$#_{}]|[−↑↓→∞<>\\^~]/g, sign => "&%$#_{}".includes(sign) ? "\\" + sign : `$${SIGNS[sign] || sign}$`);
const FORMATS = { // rows of texts, heads first; bold: the cell that is so
  CSV: rows => rows.map((row, r) => row.flatMap((text, i) => {
    const split = cell => (ESTIMATE.exec(cell) || []).slice(1), size = Math.max(...rows.map(other => split(other[i]).filter(Boolean).length));
    return ["", " low", " high", " note"].slice(0, size || 1).map((end, j) => r ? split(text)[j] || (j ? "" : text) : text + end);
  }).map(text => WHOLE.test(text) ? plain(text) : `"${text.replace(/"/g, '""')}"`).join(",")),
  Markdown: rows => rows.flatMap((row, r) => [row, ...(r ? [] : [row.map(() => "--:")])]).map(row => `| ${row.join(" | ")} |`),
  LaTeX: (rows, bold) => [`\\begin{tabular}{l${"r".repeat(rows[0].length - 1)}}`, "\\toprule", ...rows.map((row, r) => row.map((text, i) => {
    const [value, ...rest] = latex(text).split(/(?= \[)/);
    return (bold(r, i) ? `\\textbf{${value}}` : value) + (rest[0] ? ` {\\footnotesize${rest}}` : "");
  }).join(" & ") + " \\\\" + (r ? "" : "\n\\midrule")), "\\bottomrule", "\\end{tabular}"],
};
all("table.metrics").forEach((table, index) => {
  const heads = all("thead th", table), body = table.tBodies[0], box = table.closest(".scroll"), more = box.parentNode.querySelector(":scope > .rows");
  if (more) { body.append(...all("tbody tr", more)); more.remove(); }
  const rows = [...body.rows], tools = make("div", {className: "tools"}), key = "rows" + index;
  const text = make("input", {type: "search", placeholder: "Filter rows", ariaLabel: "Filter rows", oninput: () => { remember(key, text.value, table); show(); }});
  const every = press("", () => { open = true; show(); });
  let area = make("output"), order = rows, open = rows.length <= FEW;
  const show = () => {
    const kept = order.filter(row => words(row).toLowerCase().includes(text.value.toLowerCase()));
    rows.forEach(row => { row.className = "off"; });
    kept.forEach((row, i) => { row.className = open || i < FEW ? "" : "rest"; });
    body.append(...order);
    every.textContent = open ? "" : `All ${kept.length} rows`;
  };
  if (rows.length > 2) heads.forEach((head, column) => head.append(press("", () => {
    const next = {descending: "ascending", ascending: null}[head.ariaSort];
    heads.forEach(other => { other.ariaSort = null; });
    head.ariaSort = next === undefined ? "descending" : next;
    order = next === null ? rows : sorted(rows, column, next ? 1 : -1);
    show();
  }, {className: "sort", ariaLabel: "Sort by " + head.textContent})));
  if (!open) {
    box.before(make("div", {className: "tools"}, text));
    tools.append(every);
    readers.push(() => { text.value = state.get(key) || ""; show(); });
  }
  for (const name in FORMATS) tools.append(press(name, () => {
    const cells = [table.tHead.rows[0], ...order.filter(row => row.className !== "off")].map(row => [...row.cells]);
    const value = FORMATS[name](cells.map(row => row.map(words)), (r, i) => cells[r][i].className === "lead").join("\n");
    area.replaceWith(area = make("textarea", {value, readOnly: true, ariaLabel: name}));
    area.select();
    if (document.execCommand("copy")) area.replaceWith(area = make("output", {value: "copied"})); // else the text stays, selected
  }, {ariaLabel: "Copy as " + name}));
  tools.append(area);
  box.after(tools);
});
