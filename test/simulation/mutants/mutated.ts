import { readFileSync } from 'node:fs';
import { registerHooks } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import type { Mutant } from './mutant.ts';

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));

/** The file with the mutant in it. Throws RangeError when its text is not there exactly once: then the mutant is to be made again. */
export function mutatedText({ name, file, from, to }: Mutant): string {
  const text = readFileSync(join(ROOT, file), 'utf8');
  const times = text.split(from).length - 1;
  if (times !== 1) throw new RangeError(`mutant "${name}": ${file} has its text ${times} times: make it again`);
  return text.replace(from, () => to);
}

/** From now on this thread loads the mutant's file with it. Before the file is loaded first. */
export function loadMutated(mutant: Mutant): void {
  const url = pathToFileURL(join(ROOT, mutant.file)).href;
  const source = mutatedText(mutant);
  registerHooks({
    load: (asked, context, next) => (asked === url ? { format: 'module-typescript', source, shortCircuit: true } : next(asked, context)),
  });
}
