"use strict";
(async () => {
  const page = document.documentElement;
  const all = (selector, within = document) => [...within.querySelectorAll(selector)];

  // Formulas: laid out when the page was built, or by KaTeX now. What stood there before is kept for screen readers.
  const put = (place, fill) => {
    const spoken = document.createElement("span");
    spoken.className = "spoken";
    spoken.append(...place.childNodes);
    const shown = document.createElement("span");
    fill(shown);
    if (shown.querySelector(".katex-mathml")) place.replaceChildren(shown);
    else { shown.setAttribute("aria-hidden", "true"); place.replaceChildren(spoken, shown); }
  };
  const unpacked = async (text) => {
    const bytes = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    return new Response(stream).text();
  };
  const layouts = document.getElementById("layouts");
  const formulas = document.getElementById("formulas");
  if (layouts && "DecompressionStream" in window) {
    const parts = JSON.parse(await unpacked(layouts.textContent)).map((html) => {
      const template = document.createElement("template");
      template.innerHTML = html;
      all("[data-style]", template.content).forEach((e) => { e.style.cssText = e.dataset.style; delete e.dataset.style; });
      return template.content;
    });
    all("[data-math]").forEach((e) => put(e, (shown) => shown.append(parts[e.dataset.math].cloneNode(true))));
    page.classList.add("js");
  } else if (formulas && "DecompressionStream" in window) {
    const script = document.createElement("script");
    script.textContent = await unpacked(document.getElementById("katex").textContent);
    document.head.append(script);
    const list = JSON.parse(formulas.textContent);
    const options = { throwOnError: false, strict: false, trust: false, maxExpand: 1000, maxSize: 50 };
    all("[data-math]").forEach((e) => put(e, (shown) => {
      const [tex, displayMode] = list[e.dataset.math];
      katex.render(tex, shown, { ...options, displayMode });
    }));
    page.classList.add("js");
  }

  // What scrolls sideways can be reached by keyboard.
  const reach = () => all(".math.display, .scroll, .step dd, pre, main p, main li, .needs").forEach((e) => {
    if (e.scrollWidth > e.clientWidth + 1) e.tabIndex = 0; else e.removeAttribute("tabindex");
  });
  reach();
  addEventListener("resize", reach);
  document.addEventListener("toggle", reach, true);

  // Folding.
  const details = all("details");
  all("[data-fold]").forEach((b) => b.addEventListener("click", () => {
    const open = b.dataset.fold === "open";
    all(".derivation").forEach((d) => { d.open = open; });
    if (!open) details.forEach((d) => { d.open = false; });
  }));
  all(".tools").forEach((e) => { e.hidden = false; });
  let closed = [];
  addEventListener("beforeprint", () => {
    closed = details.filter((d) => !d.open && !d.matches(".step"));
    closed.forEach((d) => { d.open = true; });
  });
  addEventListener("afterprint", () => closed.forEach((d) => { d.open = false; }));

  // Copying.
  if (navigator.clipboard) all(".copy").forEach((b) => {
    b.hidden = false;
    b.addEventListener("click", async () => {
      await navigator.clipboard.writeText(b.parentElement.querySelector("code").textContent);
      const label = b.textContent;
      b.textContent = b.dataset.done;
      setTimeout(() => { b.textContent = label; }, 2000);
    });
  });
})();
