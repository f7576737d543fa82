/** Records the shape of built-in kinds, and the answers of the conformance suite, from a real API server: for the one in memory. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { answersOf, conformanceCrds, questions, recordKinds } from '@flotilla/control-plane/memory/conformance';
import { startApiServer } from '@flotilla/control-plane/servers';
import { root } from './reference/load-app.ts';

const GENERATED = join(root, 'packages/control-plane/src/memory/generated');

/** An entry of each object a line, so that a change is read as one. */
const linesOf = (entries: Readonly<Record<string, unknown>>): string =>
  Object.entries(entries)
    .map(([key, value]) => `${JSON.stringify(key)}:${JSON.stringify(value)}`)
    .join(',\n');

const server = await startApiServer({ own: true, crds: conformanceCrds() });
try {
  const client = await server.client();
  const { server: version, kinds, definitions } = await recordKinds(client);
  const listed = kinds.map((kind) => JSON.stringify(kind)).join(',\n');
  const shapes = `{"server":${JSON.stringify(version)},"kinds":[\n${listed}\n],"definitions":{\n${linesOf(definitions)}\n}}\n`;
  const answers: Record<string, unknown> = {};
  for (const question of questions) answers[question.name] = await answersOf(client, question);
  await writeFile(join(GENERATED, 'kinds.json'), shapes);
  await writeFile(join(GENERATED, 'answers.json'), `{\n${linesOf(answers)}\n}\n`);
  process.stdout.write(`${kinds.length} kinds and ${questions.length} answers of Kubernetes ${version}\n`);
} finally {
  await server.stop();
}
