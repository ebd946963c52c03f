"use strict";
(async () => {
  const page = document.documentElement;
  const all = (selector, within = document) => [...within.querySelectorAll(selector)];

  const unpacked = async (text) => {
    const bytes = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    return new Response(stream).text();
  };
  const layouts = document.getElementById("layouts");
  const formulas = document.getElementById("formulas");
  if (layouts && "DecompressionStream" in window) {
    // Formulas laid out when the page was built (derive/report/layouts.py). Their MathML is kept for screen readers.
    const heads = [];
    const kept = [];
    const built = (tree) => {
      if (typeof tree === "string") return tree;
      if (typeof tree === "number") return kept[tree].cloneNode(true);
      const keep = typeof tree[0] === "object";
      const [head, ...parts] = keep ? tree[0] : tree;
      if (typeof head === "string") heads.push(head);
      const [classes, style, tag = "span", ...rest] = (typeof head === "string" ? head : heads[head]).split("|");
      const element = tag === "span" ? document.createElement(tag) : document.createElementNS("http://www.w3.org/2000/svg", tag);
      if (classes) element.setAttribute("class", classes);
      if (style) element.style.cssText = style;
      for (let k = 0; k < rest.length; k += 2) element.setAttribute(rest[k], rest[k + 1]);
      element.append(...parts.map(built));
      if (keep) kept.push(element);
      return element;
    };
    const [places, ...trees] = JSON.parse(await unpacked(layouts.textContent));
    const laidOut = trees.map(built);
    all("math").forEach((math, k) => {
      if (!laidOut[places[k]]) return;
      const shown = laidOut[places[k]].cloneNode(true);
      const spoken = document.createElement("span");
      spoken.className = "katex-mathml";
      math.replaceWith(shown);
      spoken.append(math);
      (shown.matches(".katex") ? shown : shown.querySelector(".katex")).prepend(spoken);
    });
    page.classList.add("js");
  } else if (formulas && "DecompressionStream" in window) {
    const script = document.createElement("script");
    script.textContent = await unpacked(document.getElementById("katex").textContent);
    document.head.append(script);
    const list = JSON.parse(formulas.textContent);
    const options = { throwOnError: false, strict: false, trust: false, maxExpand: 1000, maxSize: 50 };
    all("[data-math]").forEach((place) => {
      const [tex, displayMode] = list[place.dataset.math];
      katex.render(tex, place, { ...options, displayMode });
    });
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
