// Elements of drawings.

const SVG = "http://www.w3.org/2000/svg";

/** Returns an element with attributes, a text and children. */
export function make(name, attributes, text = "") {
  const element = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  if (text) element.textContent = text;
  return element;
}
