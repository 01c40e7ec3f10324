// The address keeps what the reader sets, as #section?key=value: sent with the file, it opens the same view.
const state = new URLSearchParams(location.hash.split("?")[1]);
let section;
const write = () => {
  try { history.replaceState(0, "", `#${section}?${state}`); } catch { /* a frame has no address */ }
};
const keep = (key, value, near) => {
  state.set(key, value);
  section = (near.closest("main [id]") || all("h2[id]").findLast(head => head.compareDocumentPosition(near) & 4))?.id;
  write();
};
const unfold = place => { // only folds mind that they are open
  for (; place; place = place.parentElement) place.open = true;
};
const arrive = () => {
  [, section] = decodeURIComponent(location.hash).split(/[#?]/);
  if ("" + state) write();
  const place = document.getElementById(section);
  unfold(place);
  place?.scrollIntoView();
};
onhashchange = () => /\?/.test(location.hash) ? location.reload() : arrive();
