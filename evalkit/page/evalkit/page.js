const all = (selector, root = document) => [...root.querySelectorAll(selector)];
const make = (tag, properties) => Object.assign(document.createElement(tag), properties);
const fixed = (value, places) => isNaN(value) ? "–" :
  value.toLocaleString("en", {minimumFractionDigits: places, maximumFractionDigits: places, signDisplay: "negative"}).replace("-", "−");

const root = document.documentElement.classList, code = all("details.code");
const [contents] = all(".contents"), [button] = all("#show-code");
root.add("scripted", "hide-code");
if (contents) contents.open = matchMedia("(width>56rem)").matches;
button.hidden = !code[0];
button.onclick = () => {
  const hidden = root.toggle("hide-code");
  button.ariaPressed = !hidden;
  code.forEach(each => { each.open = !hidden; });
};
onresize = () => all(".scroll").forEach(box => { // the keyboard stops at boxes that scroll
  const name = box.querySelector("caption, [role=img], tr"), on = box.scrollWidth > box.clientWidth;
  box.tabIndex = on - 1;
  box.role = on ? "region" : null;
  box.ariaLabel = on ? name.ariaLabel || name.textContent : null;
});
