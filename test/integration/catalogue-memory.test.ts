import { fileURLToPath } from 'node:url';
import { runCommand } from '@flotilla/control-plane/processes';
import { expect, test } from 'vitest';

/** MiB of one file of a catalogue; the largest public indexes have half as much in all, and 256 are read. */
const FILE_MIB = 200;
/** Half of the limit of the pre-cache Job: the rest is for the runtime of the program and for another index that is read beside. */
const MOST_MIB = 512;

test.each(['json', 'yaml'])(
  'a catalogue file of 200 MiB of %s is read within half of the memory of the Job',
  { timeout: 180_000 },
  async (form) => {
    const program = fileURLToPath(new URL('../../packages/software/testing/large-catalogue.ts', import.meta.url));
    const stdout = await runCommand(process.execPath, [program, String(FILE_MIB), form], { timeoutMs: 170_000 });
    const { head, mostMiB } = JSON.parse(stdout) as { head: string; mostMiB: number };
    expect(head).toBe('ptp.v1');
    expect(mostMiB).toBeGreaterThan(FILE_MIB);
    expect(mostMiB).toBeLessThan(MOST_MIB);
  },
);
