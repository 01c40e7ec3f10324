(function () {
  var button = document.getElementById("show-code"), contents = document.querySelector(".contents");
  var code = document.querySelectorAll("details.code");
  document.documentElement.classList.add("hide-code");
  if (contents && window.matchMedia("(max-width: 56rem)").matches) contents.open = false;
  button.hidden = code.length === 0;
  button.onclick = function () {
    var hidden = document.documentElement.classList.toggle("hide-code");
    button.textContent = hidden ? "Show code" : "Hide code";
    button.setAttribute("aria-pressed", String(!hidden));
    code.forEach(function (each) { each.open = !hidden; });
  };
  function reach() {  // the keyboard stops only at what scrolls
    document.querySelectorAll(".scroll").forEach(function (box) {
      var named = box.querySelector("caption, svg"), label = named && (named.getAttribute("aria-label") || named.textContent);
      var scrolls = box.scrollWidth > box.clientWidth;
      [["tabindex", "0"], ["role", "region"], ["aria-label", label || "wide"]].forEach(function (pair) {
        if (scrolls) box.setAttribute(pair[0], pair[1]); else box.removeAttribute(pair[0]);
      });
    });
  }
  reach();
  window.addEventListener("resize", reach);
})();
