(function () {
  var button = document.getElementById("show-code"), contents = document.querySelector(".contents");
  var code = document.querySelectorAll("details.code"), root = document.documentElement.classList;
  root.add("hide-code");
  if (contents && window.matchMedia("(max-width: 56rem)").matches) contents.open = false;
  button.hidden = code.length === 0;
  button.onclick = function () {
    var hidden = root.toggle("hide-code");
    button.textContent = hidden ? "Show code" : "Hide code";
    button.setAttribute("aria-pressed", String(!hidden));
    code.forEach(function (each) { each.open = !hidden; });
  };
  function reach() {
    document.querySelectorAll(".scroll").forEach(function (box) {
      var of = box.querySelector("caption, [role=img], tr"), on = box.scrollWidth > box.clientWidth;
      box.tabIndex = on - 1;
      box.role = on ? "region" : null;
      box.ariaLabel = on ? of.ariaLabel || of.textContent : null;
    });
  }
  (onresize = reach)();
})();
