import { readFileSync, writeFileSync } from 'node:fs';

/** Value below which a share of the values lies (nearest rank); NaN for none. */
export function percentile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.max(0, Math.ceil(sorted.length * share) - 1))] ?? Number.NaN;
}

/** The value in the middle. */
export const median = (values: readonly number[]): number => percentile(values, 0.5);

/** One decimal. */
export const round = (value: number, digits = 1): number => Number(value.toFixed(digits));

/** What the kernel knows of a process: resident memory now and at its highest in MiB, CPU seconds so far. */
export function readProcess(pid: number): { rssMiB: number; peakMiB: number; cpuSeconds: number } {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  const kib = (field: string) => Number(new RegExp(`${field}:\\s+(\\d+)`).exec(status)?.[1] ?? 0);
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? [];
  const ticks = Number(stat[11] ?? 0) + Number(stat[12] ?? 0);
  return { rssMiB: round(kib('VmRSS') / 1024), peakMiB: round(kib('VmHWM') / 1024), cpuSeconds: ticks / 100 };
}

/** The most memory that a process has held counts anew from here. */
export const resetPeak = (pid: number): void => writeFileSync(`/proc/${pid}/clear_refs`, '5');

/** CPU seconds of each process so far, by its name. */
export const cpuOf = (pids: Readonly<Record<string, number>>): Record<string, number> =>
  Object.fromEntries(Object.entries(pids).map(([name, pid]) => [name, readProcess(pid).cpuSeconds]));

/** Resolves when what was set up is digested: these processes use less than a tenth of a core each for a second; or after a minute. */
export async function untilQuiet(pids: readonly number[]): Promise<void> {
  const used = () => pids.reduce((sum, pid) => sum + readProcess(pid).cpuSeconds, 0);
  for (let tries = 0, last = used(); tries < 60; tries += 1) {
    await new Promise((done) => setTimeout(done, 1000));
    const now = used();
    if (now - last < 0.1 * pids.length) return;
    last = now;
  }
}
