// What the tests of the page's controls do in the browser; each answer stands at the end of the page as JSON.
const $$ = (selector, root = document) => [...root.querySelectorAll(selector)];
const texts = row => [...row.cells].map(cell => cell.innerText.replace(/\s+/g, " ").trim());
const lines = table => $$("tbody tr", table).filter(row => row.offsetParent).map(texts);
const captioned = words => $$("table.metrics").find(table => table.caption.textContent.includes(words));
const key = (figure, name) => figure.dispatchEvent(new KeyboardEvent("keydown", {key: name, bubbles: true, cancelable: true}));
const type = (input, value) => { input.value = value; input.dispatchEvent(new Event("input", {bubbles: true})); };
function said(figure) { return $$(".tip", figure)[0].textContent; }
function copied(table) { // as without a clipboard: the text stays
  document.execCommand = () => false;
  const tools = table.closest(".scroll").nextElementSibling, area = $$("textarea", tools)[0];
  return Object.fromEntries($$("button", tools).filter(button => button.textContent.match(/CSV|Markdown|LaTeX/)).map(button => {
    button.click();
    return [button.textContent, area.hidden ? "" : area.value];
  }));
}
function sorts(table, column) { // three presses of a head
  const button = $$("thead th", table)[column].querySelector("button");
  return ["first", "again", "back"].map(() => { button.click(); return [$$("thead th", table)[column].ariaSort, lines(table)]; });
}
function walk(figure) { // by keyboard and by pointer
  figure.focus();
  key(figure, "ArrowRight");
  const first = said(figure);
  key(figure, "ArrowRight"); const second = said(figure);
  key(figure, "ArrowDown"); const other = said(figure);
  key(figure, "Enter"); const away = $$(".away", figure).length;
  key(figure, "Enter"); const back = $$(".away", figure).length;
  figure.blur(); const left = said(figure);
  const mark = $$("[data-series] use, [data-series] path", figure)[0].getBoundingClientRect();
  figure.querySelector("svg").dispatchEvent(new PointerEvent("pointermove", {bubbles: true, clientX: mark.x, clientY: mark.y}));
  const over = said(figure), legend = $$("[data-key]", figure)[0];
  if (legend) legend.dispatchEvent(new MouseEvent("click", {bubbles: true}));
  const alone = $$(".away", figure).length, clicked = said(figure);
  if (legend) legend.dispatchEvent(new MouseEvent("click", {bubbles: true}));
  return {first, second, other, away, back, left, over, alone, clicked, systems: new Set($$("[data-series]", figure).map(part => part.dataset.series)).size, legend: Boolean(legend)};
}
