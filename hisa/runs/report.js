"use strict";
(() => {
  const zoom = document.getElementById("zoom");
  const shots = [...document.querySelectorAll(".view .shot:not(.missing)")];
  const steps = [...document.querySelectorAll(".step")];
  let shown = -1;

  document.documentElement.classList.add("scripted");

  function show(index) {
    if (index < 0 || index >= shots.length) return;
    shown = index;
    const copy = shots[index].cloneNode(true);
    copy.removeAttribute("tabindex");
    const ratio = copy.querySelector("svg").viewBox.baseVal;
    copy.style.setProperty("--ratio", ratio.width / ratio.height);
    const caption = document.createElement("p");
    caption.textContent = shots[index].dataset.label + "  (← → for other pictures, Esc to close)";
    zoom.replaceChildren(copy, caption);
    if (!zoom.open) zoom.showModal();
  }

  function current() {
    const found = steps.findIndex((step) => step.getBoundingClientRect().bottom > 120);
    return found < 0 ? steps.length - 1 : found;
  }

  function go(index) {
    const step = steps[Math.max(0, Math.min(index, steps.length - 1))];
    if (step) step.scrollIntoView({ block: "start" });
  }

  shots.forEach((shot, index) => {
    shot.addEventListener("click", () => show(index));
    shot.addEventListener("keydown", (event) => {
      if (event.key === "Enter") show(index);
    });
  });
  zoom.addEventListener("click", () => zoom.close());
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (zoom.open) {
      if (event.key === "ArrowRight") show(shown + 1);
      if (event.key === "ArrowLeft") show(shown - 1);
      return;
    }
    if (event.key === "j") go(current() + 1);
    if (event.key === "k") go(current() - 1);
    const views = { 1: ".to-before", 2: ".to-after" };
    const choice = views[event.key] && steps[current()]?.querySelector(views[event.key]);
    if (choice) choice.checked = true;
  });
  addEventListener("beforeprint", () => {
    document.querySelectorAll("details").forEach((part) => (part.open = true));
  });
})();
