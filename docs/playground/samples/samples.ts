const files = import.meta.glob<string>("./*.js", { query: "?raw", import: "default", eager: true });

/** The titles are in the order of a first visit; each sample has a file of its name. */
const titles = ["Call", "Task", "Delivery", "Failing handler", "Retry", "Clock", "Fault", "Signature"];

export const samples = titles.map((title) => ({
  title,
  code: files[`./${title.toLowerCase().replace(" ", "-")}.js`] ?? "",
}));
