/** A program: runs many command lines in one process, which a pty or a pipe gives its standard output. Arguments: a file with the lines as JSON. */
import { readFile } from 'node:fs/promises';
import { z } from 'zod';

const APP = '../../../apps/cli/src';
interface Parser {
  parseAsync(words: readonly string[], from: object): Promise<unknown>;
}
const { createProgram }: { createProgram: (typed: readonly string[]) => Promise<Parser> } = await import(`${APP}/program.ts`);
const { complain }: { complain: (error: unknown) => void } = await import(`${APP}/complain.ts`);

/** A command that was typed wrong ends its process; here it ends its line alone. */
class Ended extends Error {
  readonly code: number;

  constructor(code: number) {
    super(`ended with ${code}`);
    this.code = code;
  }
}
process.exit = (code) => {
  throw new Ended(Number(code ?? 0));
};
// One stream, so that both come in order.
process.stderr.write = process.stdout.write.bind(process.stdout);

const lines = z.array(z.array(z.string())).parse(JSON.parse(await readFile(process.argv[2] ?? '', 'utf8')));
const usual = { ...process.env };
for (const typed of lines) {
  const set = typed.filter((word) => /^[A-Z_]+=/.test(word));
  const words = typed.slice(set.length);
  process.env = { ...usual, ...Object.fromEntries(set.map((one) => one.split('='))) };
  process.exitCode = 0;
  process.stdout.write(`$ ${[...set, 'flotilla', ...words].join(' ')}\n`);
  try {
    const program = await createProgram(words);
    await program.parseAsync(words, { from: 'user' });
  } catch (error) {
    if (error instanceof Ended) process.exitCode = error.code;
    else complain(error);
  }
  process.stdout.write(`[exit ${process.exitCode}]\n`);
}
process.exitCode = 0;
