// Names that others choose are looked up by `lookUp` alone: `table[name]` would also give what every object inherits.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import ts from 'typescript-5';
import { root } from '../scripts/repository.ts';

/** Modules that names of others reach. What they write is their own. */
const modules = /^src\/(?:audience|bells|delivery|errors|http|operations|operator|protocol|service|store)\//;
/** Names of columns and options, which are ours. */
const ownNames = /^src\/(?:store\/(?:copy|postgres|sqlite)\/|errors\/check-options\.ts)/;

test('no plain object is indexed by a name that may be anything', () => {
  const { config } = ts.readConfigFile(join(root, 'tsconfig.json'), ts.sys.readFile) as { config: unknown };
  const { fileNames, options } = ts.parseJsonConfigFileContent(config, ts.sys, root);
  const program = ts.createProgram(
    fileNames.filter((name) => name.includes('/src/')),
    options,
  );
  const checker = program.getTypeChecker();
  const isAnyText = (node: ts.Node): boolean => {
    const type = checker.getTypeAtLocation(node);
    const kinds = type.isUnion() ? type.types : [type];
    return kinds.some(({ flags }) => (flags & (ts.TypeFlags.String | ts.TypeFlags.TemplateLiteral)) !== 0);
  };
  const found: string[] = [];
  let looked = 0;
  for (const file of program.getSourceFiles()) {
    const name = file.fileName.slice(join(root, '/').length);
    if (!modules.test(name) || ownNames.test(name)) continue;
    looked += 1;
    const visit = (node: ts.Node): void => {
      if (ts.isElementAccessExpression(node) && isAnyText(node.argumentExpression) && !isWritten(node))
        found.push(`${name}: ${node.getText()}`);
      ts.forEachChild(node, visit);
    };
    visit(file);
  }
  assert.ok(looked > 200, String(looked));
  assert.deepEqual(found, []);
});

const isWritten = ({ parent }: ts.Node): boolean =>
  ts.isBinaryExpression(parent) &&
  parent.operatorToken.kind >= ts.SyntaxKind.FirstAssignment &&
  parent.operatorToken.kind <= ts.SyntaxKind.LastAssignment;
