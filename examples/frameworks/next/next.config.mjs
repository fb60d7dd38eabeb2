// The folder above has the node_modules; an application with its own needs no settings.
const root = `${import.meta.dirname}/..`;

export default { outputFileTracingRoot: root, turbopack: { root } };
