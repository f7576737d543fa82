import { PIN_LIFE_MS } from '@flotilla/api/ran';
import { type Clock, mapConcurrently, pause } from '@flotilla/pace';
import type { Logger } from '@flotilla/runtime';
import { z } from 'zod';
import { isRefusal } from '../socket/connection.ts';
import { type Asked, callContainerd, orAbsent } from '../socket/containerd.ts';
import { Containerd } from '../socket/containerd-protocol.ts';
import { Protocol } from '../socket/protocol.ts';

const Texts = z.record(z.string(), z.string()).default({});
const Target = z.object({ mediaType: z.string(), digest: z.string(), size: z.number(), annotations: Texts });
const Image = z.object({ name: z.string(), labels: Texts, target: Target.nullish() });
const ImageAnswer = z.object({ image: Image.nullish() });
const ListAnswer = z.object({ images: z.array(Image) });
const StatusAnswer = z.object({ image: z.object({ pinned: z.boolean() }).nullish() });

/** Host of all names of pins: no registry can have it, so nothing pulls them. */
const HOST = 'precache.invalid';
/** Labels of a pin: the runtime's own, whose pin it is, and until when. */
const PinLabel = { pinned: 'io.cri-containerd.pinned', owner: 'flotilla.io/upgrade-uid', until: 'flotilla.io/pinned-until' } as const;
/** Time in which the runtime notices a pin. */
const NOTICE_MS = 5_000;
const NOTICE_STEP_MS = 100;
const PARALLEL = 8;

/** Dependencies of pins. */
interface PinDeps extends Asked {
  readonly clock: Clock;
  readonly logger: Logger;
}

/**
 * Pins of images in containerd: records of names of our own, which a later pull does not take back as it would a label of the image's own name. A pin
 * counts only when the kubelet is told of it.
 */
export class Pins {
  readonly #deps: PinDeps;

  constructor(deps: PinDeps) {
    this.#deps = deps;
  }

  /**
   * Pins images for an upgrade, or renews their pins. A runtime that knows no pins gets none.
   * @param owner uid of the upgrade
   * @returns number of names that the runtime says are pinned
   */
  async pin(pullSpecs: readonly string[], owner: string): Promise<number> {
    const pinned = { count: 0 };
    const pinOne = async (pullSpec: string): Promise<void> => {
      if ((await this.#record(pullSpec, owner)) && (await this.#isPinned(pullSpec))) pinned.count += 1;
    };
    const [first, ...others] = pullSpecs;
    if (first === undefined) return 0;
    await pinOne(first);
    // A record that pins nothing would only keep an image from being collected whole.
    if (pinned.count === 0) await this.remove(owner);
    else await mapConcurrently(others, PARALLEL, pinOne, { stopAtFailure: true });
    return pinned.count;
  }

  /** Removes the pins of an upgrade; their images stay. Returns their number. @param owner uid; undefined: every upgrade */
  remove(owner: string | undefined): Promise<number> {
    return this.#remove((labels) => owner === undefined || labels[PinLabel.owner] === owner);
  }

  /** Removes pins that nobody has renewed: their upgrade ended while this node was away. */
  removeExpired(): Promise<number> {
    const now = this.#deps.clock.now();
    return this.#remove((labels) => !(Date.parse(labels[PinLabel.until] ?? '') > now));
  }

  async #remove(isMeant: (labels: Readonly<Record<string, string>>) => boolean): Promise<number> {
    const { images } = await callContainerd(this.#deps, Containerd.listImages, { filters: [] }, ListAnswer);
    const meant = images.filter(({ name, labels }) => name.startsWith(`${HOST}/`) && isMeant(labels));
    const remove = async ({ name }: { name: string }): Promise<void> => {
      await orAbsent(callContainerd(this.#deps, Containerd.deleteImage, { name, sync: false }));
    };
    await mapConcurrently(meant, PARALLEL, remove, { stopAtFailure: true });
    if (meant.length > 0) this.#deps.logger.info({ pins: meant.length }, 'Removed pins');
    return meant.length;
  }

  /** Records the pin; false where the image is not there. */
  async #record(pullSpec: string, owner: string): Promise<boolean> {
    const found = await orAbsent(callContainerd(this.#deps, Containerd.getImage, { name: pullSpec }, ImageAnswer));
    const target = found?.image?.target;
    if (!target) return false;
    const name = `${HOST}/${owner}:${target.digest.replace(/^sha256:/, '')}`;
    const until = new Date(this.#deps.clock.now() + PIN_LIFE_MS).toISOString();
    const labels = { [PinLabel.pinned]: 'pinned', [PinLabel.owner]: owner, [PinLabel.until]: until };
    // containerd 2 ends at a record without its target, so every record is sent whole.
    const image = { name, labels, target };
    try {
      await callContainerd(this.#deps, Containerd.createImage, { image });
    } catch (error) {
      if (!isRefusal(error, 'ALREADY_EXISTS')) throw error;
      await callContainerd(this.#deps, Containerd.updateImage, { image, updateMask: { paths: ['labels'] } });
    }
    return true;
  }

  /** Asks as the kubelet does; the runtime notices a new record a moment later. */
  async #isPinned(pullSpec: string): Promise<boolean> {
    const { clock, signal } = this.#deps;
    for (const end = clock.now() + NOTICE_MS; ; ) {
      const { image } = await callContainerd(this.#deps, Protocol.imageStatus, { image: { image: pullSpec } }, StatusAnswer);
      if (image?.pinned) return true;
      if (clock.now() >= end) return false;
      await pause(clock, NOTICE_STEP_MS, signal);
      signal.throwIfAborted();
    }
  }
}
