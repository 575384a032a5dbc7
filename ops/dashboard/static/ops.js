// Brings the main part of a page up to date every few seconds. Without this script every page works the same.
"use strict";
(() => {
  const main = document.getElementById("main");
  const everySeconds = Number(main.dataset.refreshS);
  if (!everySeconds) return;
  const KEY = "memhub-paused";
  const FAILURES_MAX = 5;
  let failures = 0;
  let shown = null;
  let busy = false;

  const button = document.createElement("button");
  button.type = "button";
  button.className = "quiet";
  document.querySelector(".who").append(button);
  const isPaused = () => localStorage.getItem(KEY) === "yes";
  const tell = () => {
    button.textContent = isPaused() ? "Paused" : failures ? "Not reached" : "Live";
    button.setAttribute("aria-pressed", String(!isPaused()));
    button.setAttribute("aria-label", `${button.textContent}: refresh this page by itself`);
  };
  button.addEventListener("click", () => {
    localStorage.setItem(KEY, isPaused() ? "no" : "yes");
    failures = 0;
    tell();
    refresh();
  });

  // A person who types, chooses or marks text is not interrupted, and what was typed stays until it is sent.
  const isTyped = (input) => input.value !== input.defaultValue || input.checked !== input.defaultChecked;
  const isInUse = () => {
    const active = document.activeElement;
    return (main.contains(active) && active.matches("input, select, textarea")) || !document.getSelection().isCollapsed
      || [...main.querySelectorAll("input")].some(isTyped);
  };
  const pathTo = (element) => {
    if (!main.contains(element) || element === main) return null;
    const kin = [...main.querySelectorAll(element.localName)];
    return { name: element.localName, place: kin.indexOf(element), text: element.textContent };
  };
  const replace = (html) => {
    const open = new Set([...main.querySelectorAll("details[open][id]")].map((element) => element.id));
    const scrolled = [...main.querySelectorAll(".scroll")].map((element) => element.scrollLeft);
    const focused = pathTo(document.activeElement);
    main.innerHTML = html;
    for (const element of main.querySelectorAll("details[id]")) if (open.has(element.id)) element.open = true;
    main.querySelectorAll(".scroll").forEach((element, place) => { element.scrollLeft = scrolled[place] || 0; });
    const again = focused && main.querySelectorAll(focused.name)[focused.place];
    if (again && again.textContent === focused.text) again.focus({ preventScroll: true });
  };
  const refresh = async () => {
    if (busy || document.hidden || isPaused() || isInUse() || failures >= FAILURES_MAX) return;
    busy = true;
    try {
      const address = new URL(location.href);
      address.searchParams.delete("done");
      const answer = await fetch(address, { headers: { "Memhub-Fragment": "main" }, cache: "no-store" });
      if (answer.status === 401) { location.reload(); return; }
      if (!answer.ok) throw new Error(String(answer.status));
      const html = await answer.text();
      if (html !== shown && !isInUse()) {
        replace(html);
        shown = html;
      }
      failures = 0;
    } catch {
      failures += 1;
    } finally {
      busy = false;
      tell();
    }
  };
  tell();
  setInterval(refresh, everySeconds * 1000);
  document.addEventListener("visibilitychange", () => { failures = 0; refresh(); });
})();
