#!/usr/bin/env node
// The entry of the command: checks the version of Node before anything else is loaded. An older Node could not even
// parse the rest, so this file is CommonJS and keeps to the syntax that Node 12 knows.
const { engines } = require('../../package.json') as { readonly engines: { readonly node: string } };
const requiredMajor = Number(/\d+/.exec(engines.node));

if (Number(/\d+/.exec(process.version)) < requiredMajor) {
  process.stderr.write(
    `deskbell: Node ${requiredMajor} or newer is required, and this is Node ${process.versions.node}. ` +
      'See https://nodejs.org/en/download. [ERR_NODE_VERSION]\n',
  );
  process.exitCode = 1;
} else {
  // Compiled code is cached for the next run, which saves up to half of the time to start.
  require('node:module').enableCompileCache();
  void import('./run-process.ts').then(({ runProcess }) => runProcess());
}
