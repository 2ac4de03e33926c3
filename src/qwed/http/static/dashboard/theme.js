// Before anything is drawn: the theme that was chosen here, or the system's.
(() => {
  let chosen = null;
  try {
    chosen = localStorage.getItem("qwed-theme");
  } catch {
    // Storage may be forbidden; the system's theme will do.
  }
  if (chosen === "light" || chosen === "dark") document.documentElement.dataset.theme = chosen;
})();
