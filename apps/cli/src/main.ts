import { setFlagsFromString } from 'node:v8';
import { createProgram } from './program.ts';

// An answer about thousands of clusters makes much garbage and keeps little: a young generation that grows costs twenty megabytes.
setFlagsFromString('--semi-space-growth-factor=1');

// A reader such as `head` may close the pipe early.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error;
  process.exit();
});

async function main(): Promise<void> {
  const words = process.argv.slice(2);
  // A completion script has the options of all commands.
  const program = await createProgram(words.includes('completion') ? undefined : words);
  // Only this needs the runtime, whose import would make `--help` slow.
  if (process.argv.includes('--version')) {
    const { versionLine } = await import('@flotilla/runtime');
    program.on('option:version', () => {
      process.stdout.write(`${versionLine('flotilla')}\n`);
      process.exit();
    });
  }
  await program.parseAsync();
}

// No await at the top level: the file of a release is CommonJS, which has none.
main().catch(async (error: unknown) => {
  const { complain } = await import('./complain.ts');
  complain(error);
});
