{
  const chosen = (() => {
    try {
      return localStorage.getItem("theme");
    } catch {} // where nothing may be stored
  })();
  document.documentElement.dataset.theme =
    chosen || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
  const [visit] = performance.getEntriesByType("navigation");
  if (/\/chapters\//.test(location.pathname) && !location.hash && visit?.type === "navigate")
    document.documentElement.classList.add("early");
}
