import type { PrecacheProgress } from '@flotilla/api/ran';
import { bytes } from '@flotilla/api/units';
import type { SpokeProgress } from '../../test/support/upgrade-progress.ts';

/** Where lines go; a terminal is redrawn in place. */
export interface Screen {
  readonly isTTY: boolean;
  /** Width of the terminal at this moment; a longer line would wrap, and the block could not be drawn over. */
  readonly columns?: number;
  write(text: string): void;
}

const BAR = 24;
/** Without a terminal a spoke gets a line when its state changes, and at most one in this time for its bytes. */
const PLAIN_EVERY_MS = 3_000;

/** Shows the progress of spokes: a block that is redrawn in a terminal, plain lines elsewhere. */
export class ProgressView {
  readonly #screen: Screen;
  readonly #now: () => number;
  readonly #last = new Map<string, PrecacheProgress>();
  readonly #printed = new Map<string, { line: string; state: string; at: number }>();
  #drawn = 0;

  constructor(screen: Screen, now: () => number = () => performance.now()) {
    this.#screen = screen;
    this.#now = now;
  }

  /** Shows the newest state. */
  show(now: readonly SpokeProgress[]): void {
    const spokes = now.map((spoke) => this.#remember(spoke));
    if (!this.#screen.isTTY) return this.#print(spokes);
    const up = this.#drawn > 0 ? `\u001b[${this.#drawn}A` : '';
    this.#screen.write(up + spokes.map((spoke) => `\u001b[2K${`  ${progressLine(spoke)}`.slice(0, this.#screen.columns)}\n`).join(''));
    this.#drawn = spokes.length;
  }

  /** The status drops the progress of a spoke that has ended; the view keeps the images and bytes it ended with. */
  #remember(spoke: SpokeProgress): SpokeProgress {
    const last = this.#last.get(spoke.name);
    if (spoke.progress) this.#last.set(spoke.name, spoke.progress);
    else if (last && spoke.state === 'Succeeded') {
      return { ...spoke, progress: { ...last, imagesDone: last.imagesTotal, bytesDone: last.bytesTotal } };
    }
    return spoke;
  }

  #print(spokes: readonly SpokeProgress[]): void {
    for (const spoke of spokes) {
      const line = progressLine(spoke);
      const last = this.#printed.get(spoke.name);
      const isDue = last === undefined || last.state !== spoke.state || this.#now() - last.at >= PLAIN_EVERY_MS;
      if (!isDue || last?.line === line) continue;
      this.#printed.set(spoke.name, { line, state: spoke.state, at: this.#now() });
      this.#screen.write(`  ${line}\n`);
    }
  }
}

/** One spoke in one line: state, images, bytes, rate and time left, as far as they are known. */
export function progressLine({ name, state, progress, message }: SpokeProgress): string {
  const parts = [`${name}  ${state.padEnd(16)}`];
  if (progress && progress.imagesTotal > 0) {
    const { imagesDone, imagesTotal, bytesDone, bytesTotal, bytesPerSecond } = progress;
    const filled = bytesTotal > 0 ? Math.round((BAR * Math.min(bytesDone, bytesTotal)) / bytesTotal) : BAR;
    parts.push(`[${'#'.repeat(filled)}${'.'.repeat(BAR - filled)}]`);
    parts.push(`${imagesDone}/${imagesTotal} images`, `${bytes(bytesDone)} of ${bytes(bytesTotal)}`);
    if (state === 'Active' && bytesPerSecond >= LEAST_RATE) {
      parts.push(`${bytes(bytesPerSecond)}/s`, `${Math.ceil((bytesTotal - bytesDone) / bytesPerSecond)} s left`);
    }
  }
  if (message) parts.push(message);
  return parts.join('  ').trimEnd();
}

/** A lower rate is none yet: an estimate by it would be of hours. */
const LEAST_RATE = 50_000;
