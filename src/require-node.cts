// Loaded before everything else by the command and by every entry of the package that needs Node: an older Node would fail
// with an error about a name or a module that it does not have. CommonJS, in syntax that Node 12 knows.
const { engines } = require('../package.json') as { readonly engines: { readonly node: string } };
const requiredMajor = Number(/\d+/.exec(engines.node));

if (Number(/\d+/.exec(process.version)) < requiredMajor) {
  const message =
    `deskbell: Node ${requiredMajor} or newer is required, and this is Node ${process.versions.node}. ` +
    'See https://nodejs.org/en/download.';
  throw Object.assign(new Error(message), { code: 'ERR_NODE_VERSION' });
}
