const all = (what, root = document) => [...root.querySelectorAll(what)];
const make = (tag, more) => Object.assign(document.createElement(tag), more);
const fixed = (value, places) => isNaN(value) ? "–" :
  value.toLocaleString("en", {minimumFractionDigits: places, maximumFractionDigits: places, signDisplay: "negative"}).replace("-", "−");

const root = document.documentElement.classList, code = all("details.code");
const [contents] = all(".contents"), [button] = all("#show-code");
root.add("scripted", "hide-code");
if (contents) contents.open = matchMedia("(width>56rem)").matches;
button.onclick = () => {
  const open = !root.toggle("hide-code");
  button.ariaPressed = open;
  code.forEach(each => { each.open = open; });
};
onresize = () => all(".scroll").forEach(box => { // the keyboard stops at boxes that scroll
  const [name] = all("caption, [role=img], tr", box), on = box.scrollWidth > box.clientWidth;
  box.tabIndex = on - 1;
  box.role = on ? "region" : null;
  box.ariaLabel = on ? name.ariaLabel || name.textContent : null;
});
