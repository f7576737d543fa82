import type { CommandOptions } from '@flotilla/control-plane/processes';
import type { Registry } from '@flotilla/control-plane/servers';
import type { Client } from '@flotilla/runtime';

/** One cluster, as its administrator has it. */
export interface Site {
  readonly name: string;
  /** Path of the administrator's kubeconfig. */
  readonly kubeconfig: string;
  readonly client: Client;
  /** Runs kubectl as administrator and returns its output. Throws CommandError. */
  kubectl(args: readonly string[], options?: CommandOptions): Promise<string>;
}

/** The hub: also how agents on other clusters reach it. Its kubeconfig has the authority of that address. */
export interface HubSite extends Site {
  /** API server as spokes reach it. */
  readonly url: string;
}

/** An image to start. */
export interface ComponentImage {
  readonly name: string;
  /** `host/repository@sha256:…` */
  readonly pullSpec: string;
}

/** How many component images came up on a spoke. */
export interface Started {
  readonly up: number;
  readonly total: number;
  /** Seconds from the first create to the last image up, or to giving up. */
  readonly seconds: number;
  /** Of those that did not come up: why, by name. */
  readonly failures: Readonly<Record<string, string>>;
}

/** A spoke, with the link to it in our hands. */
export interface SpokeSite extends Site {
  /** Names of its nodes. */
  readonly nodes: readonly string[];
  /** Shapes the link, or takes the limit off. */
  setRate(rate: string | undefined): Promise<void>;
  cutLink(): Promise<void>;
  restoreLink(): Promise<void>;
  /** Starts every image and waits until all are up, or `withinMs` are over; what was started is removed again. On that node, or where the scheduler wants. */
  startImages(images: readonly ComponentImage[], withinMs: number, node?: string): Promise<Started>;
}

/** Everything the story happens on. Ended by `await using`, or by the clean-up of this program. */
export interface Fleet extends AsyncDisposable {
  /** One sentence for the user: what this is made of. */
  readonly description: string;
  readonly hub: HubSite;
  /** Spokes that get registered. */
  readonly spokes: readonly SpokeSite[];
  /** A spoke that nobody registers: what an upgrade meets without pre-caching. */
  readonly bystander: SpokeSite | undefined;
  readonly registry: Registry;
  /** `host:port` of the registry for this program. */
  readonly pushHost: string;
  /** Host of the registry in every image's name; nodes know where it is. */
  readonly registryName: string;
  /** The puller's `REGISTRY_CONFIG`: where that name is, for whoever asks the registry without the node's runtime. */
  readonly registryConfig: string;
  /** Folder for files of the story; gone with the program. */
  readonly dir: string;
}

/** Spokes with the one that nobody registers, if there is one. */
export const allSpokes = ({ spokes, bystander }: Pick<Fleet, 'spokes' | 'bystander'>): readonly SpokeSite[] =>
  bystander ? [...spokes, bystander] : spokes;

/** How a fleet is started. */
export interface FleetOptions {
  readonly spokes: number;
  readonly bystander: boolean;
  readonly say: (line: string) => void;
  /** Ends commands that run when the program is interrupted. */
  readonly signal: AbortSignal;
}

/** Name of the registry; it resolves nowhere, nodes have a mirror entry. */
export const REGISTRY_NAME = 'registry.flotilla.test';

/** Places of the registry for programs that ask it themselves. */
export const mirrorConfig = (address: string): string => JSON.stringify([{ source: REGISTRY_NAME, mirrors: [address], insecure: true }]);
