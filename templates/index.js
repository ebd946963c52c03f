"use strict";
(() => {
  const form = document.querySelector("form");
  const box = document.getElementById("search");
  const found = document.getElementById("found");
  const entries = [...document.querySelectorAll(".entry")].map((entry) => ({
    entry,
    title: entry.querySelector("h2").textContent.toLowerCase(),
    items: [...entry.querySelectorAll("li")].map((item) => ({ item, text: item.textContent.toLowerCase() })),
  }));
  const search = () => {
    const words = box.value.toLowerCase().split(/\s+/).filter(Boolean);
    let count = 0;
    entries.forEach(({ entry, title, items }) => {
      let here = 0;
      items.forEach(({ item, text }) => {
        const shown = words.every((word) => text.includes(word) || title.includes(word));
        item.hidden = !shown;
        here += shown;
      });
      entry.hidden = here === 0;
      count += here;
    });
    found.textContent = words.length
      ? found.dataset[count === 1 ? "one" : "many"].replace("#", count) : "";
  };
  form.hidden = false;
  form.addEventListener("submit", (event) => event.preventDefault());
  box.addEventListener("input", search);
})();
