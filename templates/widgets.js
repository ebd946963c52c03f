"use strict";
// Widgets: what the reader changes, and what the page shows of it. All that is computed comes from `derived`.
(() => {
  const place = document.getElementById("widget-data");
  if (!place) return;
  const { quantiles, widgets } = JSON.parse(place.textContent);
  const digits = 4;
  const minus = (text) => text.replaceAll("-", "\u2212");
  const shown = (value) => {
    if (Number.isNaN(value)) return "NaN";
    if (!Number.isFinite(value)) return value > 0 ? "\u221e" : "\u2212\u221e";
    return value === 0 ? "0" : minus(value.toPrecision(digits));
  };

  const plain = (value) => minus(String(value));

  // Rows of draws by xorshift, each from the same sixteen numbers: the same ones as when the page was made.
  const draws = (rows, columns, seed) => Array.from({ length: rows }, (_, row) => {
    let word = (Math.imul(seed, 0x9e3779b1) + Math.imul(row, 0x85ebca6b) + 1) >>> 0 || 1;
    const drawn = new Float64Array(columns);
    for (let k = -8; k < columns; k++) {
      word = (word ^ (word << 13)) >>> 0;
      word ^= word >>> 17;
      word = (word ^ (word << 5)) >>> 0;
      if (k >= 0) drawn[k] = quantiles[word >>> 28];
    }
    return drawn;
  });

  const isMatrix = (value) => typeof value === "object" && typeof value[0] === "object";
  const evaluated = (name, spec, inputs) => {
    const known = {};
    for (const [key, value] of Object.entries(inputs)) {
      known[key] = value && value.random
        ? draws(value.random[0], value.columns ? inputs[value.columns] : value.random[1], value.seed) : value;
    }
    for (const [key, array] of Object.entries(spec.sizes || {})) known[key] = known[array].length;
    for (const value of spec.values) {
      const f = derived[`${name}.${value.name}`];
      if (value.take) {
        known[value.name] = value.at.reduce((array, k) => array[typeof k === "string" ? known[k] : k], known[value.take]);
      } else if (value.first) {
        known[value.name] = [...known[value.of]].slice(0, value.first);
      } else if (value.choose) {
        known[value.name] = known[value.choose[Number(known[value.by])]];
      } else if (value.least) {
        const size = known[value.rows].length;
        let best = Infinity;
        for (let number = 1; number < 2 ** size; number++) {
          const bits = Array.from({ length: size }, (_, k) => (number >> k) & 1);
          const worth = f(...value.arguments.map((a) => (a === value.bits ? bits : known[a])));
          if (worth < best || !known[value.name]) [best, known[value.name]] = [worth, bits];
        }
      } else if (value.each) {
        const given = value.arguments.map((a) => known[a]);
        known[value.name] = given.find(isMatrix).map((_, row) => f(...given.map((a) => (isMatrix(a) ? a[row] : a))));
      } else {
        known[value.name] = f(...value.arguments.map((a) => known[a]));
      }
    }
    return known;
  };

  const start = (section) => {
    const name = section.dataset.widget;
    const spec = widgets[name];
    const all = (selector) => [...section.querySelectorAll(selector)];
    const fresh = () => structuredClone(spec.inputs);
    const columns = Object.fromEntries(spec.columns.map((column) => [column.value, column]));
    let inputs = fresh();

    const bar = (svg, value, { bar: full, signed }) => {
      const size = Number.isFinite(value) ? Math.min(Math.abs(value) / full, 1) : 0;
      const length = (100 * size) / (signed ? 2 : 1);
      const rect = svg.firstElementChild;
      rect.setAttribute("x", signed ? (value < 0 ? 50 - length : 50) : 0);
      rect.setAttribute("width", signed || value > 0 ? length : 0);
      svg.classList.toggle("below", value < 0);
    };
    const show = () => {
      const known = evaluated(name, spec, inputs);
      all("[data-cell]").forEach((cell) => {
        const [key, ...path] = cell.dataset.cell.split(".");
        const value = path.reduce((array, k) => array[k], known[key]);
        cell.value = String(value);
        cell.textContent = shown(value);
        const next = cell.nextElementSibling;
        const before = cell.previousElementSibling;
        if (next && next.matches(".bar")) bar(next, value, columns[key]);
        if (before && before.matches(".square")) before.firstElementChild.setAttribute("fill-opacity", value);
      });
      all("[data-strip]").forEach((strip) => {
        const { reach } = spec.strips.find((one) => one.value === strip.dataset.strip);
        const spots = [...known[strip.dataset.strip]].map((v) => 50 + 50 * Math.max(-1, Math.min(1, v / reach)));
        strip.firstElementChild.setAttribute("d", spots.map((x) => `M${x.toFixed(2)} 1V9`).join(""));
      });
      all("[data-pick]").forEach((button) => {
        const chosen = Number(button.dataset.pick) === inputs[spec.pick.name];
        button.setAttribute("aria-pressed", chosen);
        button.closest("tr").classList.toggle("chosen", chosen);
      });
    };

    // Controls: a switch, or a range over numbers or over options.
    const bound = all("[data-input]").map((control) => {
      const { input, entry } = control.dataset;
      const options = spec.controls.find((one) => one.input === input).options;
      const read = () => {
        if (control.type === "checkbox") return control.checked;
        return options ? options[control.valueAsNumber] : control.valueAsNumber;
      };
      const put = (value) => { if (entry === undefined) inputs[input] = value; else inputs[input][entry] = value; };
      const tell = () => {
        if (control.type === "checkbox") return;
        control.setAttribute("aria-valuetext", plain(read()));
        control.nextElementSibling.textContent = plain(read());
      };
      control.addEventListener("input", () => { put(read()); tell(); show(); });
      return () => {
        const value = entry === undefined ? inputs[input] : inputs[input][entry];
        if (control.type === "checkbox") control.checked = value;
        else control.value = options ? options.indexOf(value) : value;
        tell();
      };
    });
    const edits = all("[data-edit]");
    edits.forEach((box) => {
      const [key, row] = box.dataset.edit.split(".");
      box.hidden = false;
      box.parentElement.querySelector("data").hidden = true;
      box.addEventListener("input", () => {
        const valid = box.value !== "" && box.validity.valid | box.validity.stepMismatch;
        box.toggleAttribute("aria-invalid", !valid);
        if (!valid) return;
        inputs[key][row] = box.valueAsNumber;
        show();
      });
    });
    all("[data-pick]").forEach((button) => {
      button.disabled = false;
      button.addEventListener("click", () => { inputs[spec.pick.name] = Number(button.dataset.pick); show(); });
    });
    const begin = () => {
      inputs = fresh();
      bound.forEach((set) => set());
      edits.forEach((box) => {
        const [key, row] = box.dataset.edit.split(".");
        box.value = inputs[key][row];
        box.removeAttribute("aria-invalid");
      });
      show();
    };
    all("[data-reset]").forEach((button) => button.addEventListener("click", begin));
    all(".controls").forEach((controls) => { controls.hidden = false; });
    begin();
  };
  document.querySelectorAll("[data-widget]").forEach(start);
})();
