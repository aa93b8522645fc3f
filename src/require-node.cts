// The command and every entry for Node load this first, so that an older Node names the reason. CommonJS, in syntax
// that Node 12 knows.
const { engines } = require('../package.json') as { readonly engines: { readonly node: string } };
const requiredMajor = Number(/\d+/.exec(engines.node));

if (Number(/\d+/.exec(process.version)) < requiredMajor) {
  const message =
    `deskbell: Node ${requiredMajor} or newer is required, and this is Node ${process.versions.node}. ` +
    'See https://nodejs.org/en/download.';
  throw Object.assign(new Error(message), { code: 'ERR_NODE_VERSION' });
}
