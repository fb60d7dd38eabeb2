/** The headers of all that the server of a page sends. The page runs no inline code, and sends requests to its own server alone. */
export const pageHeaders = {
  // Styles are set through the CSS object model, which the policy does not restrict.
  "content-security-policy": [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "connect-src 'self'",
    "img-src data:",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join("; "),
  // A page that opens this one in a window gets no handle of it.
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
  "referrer-policy": "no-referrer",
  "x-content-type-options": "nosniff",
};

const types: Readonly<Record<string, string>> = {
  html: "text/html; charset=utf-8",
  js: "text/javascript; charset=utf-8",
  css: "text/css; charset=utf-8",
  txt: "text/plain; charset=utf-8",
};

/** The media type of a file of a page. */
export const typeOfPageFile = (name: string): string =>
  types[name.slice(name.lastIndexOf(".") + 1)] ?? "application/octet-stream";
