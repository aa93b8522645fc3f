// For Containerfile: makes the optional packages (PostgreSQL, metrics) part of the installation, at the versions of the lock file.
const { readFileSync, writeFileSync } = require('node:fs');

const {
  devDependencies,
  peerDependencies,
  scripts: _,
  ...described
} = JSON.parse(readFileSync('package.json', 'utf8'));
for (const name of Object.keys(peerDependencies)) described.dependencies[name] = devDependencies[name];
writeFileSync('package.json', JSON.stringify({ ...described, peerDependencies }, null, 2));
