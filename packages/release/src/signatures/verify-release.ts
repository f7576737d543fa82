import { errorMessage } from '@flotilla/api';
import { z } from 'zod';
import { namesOf, quoted, ReleaseError, ReleaseErrorCode } from '../errors.ts';
import { type Keyring, signatureLimits } from './verification-config.ts';

/** Where signatures of releases are kept. */
export interface SignatureStore {
  readonly name: string;
  /** Signatures of a digest in the store's order; none when it has none. Throws when it cannot say. */
  signatures(digest: string, signal: AbortSignal): AsyncIterable<Uint8Array>;
}

/** Stores that are asked at once, after those of the stage before. */
export interface SignatureStage {
  readonly stores: readonly SignatureStore[];
  /** Set where later stages are not asked: why the release is refused then. */
  readonly refusal?: string;
}

interface SignatureSources {
  readonly inCluster: SignatureStore;
  /** `spec.signatureStores` of the ClusterVersion. */
  readonly configured: readonly SignatureStore[] | undefined;
  readonly ofPayload: readonly SignatureStore[];
}

/** In which order stores are asked. Configured ones stand in place of the payload's. Pure. */
export function signatureStages({ inCluster, configured, ofPayload }: SignatureSources): SignatureStage[] {
  if (configured === undefined) return [{ stores: [inCluster] }, { stores: ofPayload }];
  const refusal =
    configured.length === 0
      ? 'spec.signatureStores is an empty list: name stores in it, or take the field away to use those of the release'
      : 'spec.signatureStores names no store with a valid signature';
  return [{ stores: [inCluster] }, { stores: configured, refusal }];
}

interface VerifyReleaseOptions {
  readonly keyrings: readonly Keyring[];
  readonly stages: readonly SignatureStage[];
  readonly now: Date;
  /** Ends the verification: the release then counts as not verified. */
  readonly signal: AbortSignal;
}

interface VerifiedRelease {
  readonly signatures: readonly Uint8Array[];
}

/**
 * Looks for signatures of a release until every keyring has signed it.
 * @param digest of the release image, `algorithm:hash`
 * @throws ReleaseError `FLOTILLA_RELEASE_UNVERIFIED` saying which keyrings have not, and what stores and signatures were refused for
 */
export async function verifyRelease(digest: string, options: VerifyReleaseOptions): Promise<VerifiedRelease> {
  if (options.keyrings.length === 0) throw unverified('verification is not possible: there are no public keys');
  if (digest === '') throw unverified('release images that are not accessed via digest cannot be verified');
  if (!isVerifiableDigest(digest)) throw unverified(`the digest ${quoted(digest)} of the release image has characters that none has`);
  const search = new SignatureSearch(digest, options);
  for (const stage of options.stages) {
    await search.ask(stage.stores);
    if (search.isDone) return { signatures: search.accepted };
    if (options.signal.aborted) throw search.failure('it took too long');
    if (stage.refusal !== undefined) throw search.failure(stage.refusal);
  }
  throw search.failure();
}

const unverified = (message: string): ReleaseError => new ReleaseError(ReleaseErrorCode.unverified, message);

class SignatureSearch {
  readonly #digest: string;
  readonly #options: VerifyReleaseOptions;
  readonly #missing: Map<string, Keyring>;
  readonly #problems = new Set<string>();
  readonly accepted: Uint8Array[] = [];

  constructor(digest: string, options: VerifyReleaseOptions) {
    this.#digest = digest;
    this.#options = options;
    this.#missing = new Map(options.keyrings.map((keyring) => [keyring.name, keyring]));
  }

  get isDone(): boolean {
    return this.#missing.size === 0;
  }

  /** Asks stores at once, until all keyrings have signed or all are read. The error of a store is a problem, not the end. */
  async ask(stores: readonly SignatureStore[]): Promise<void> {
    const done = new AbortController();
    const signal = AbortSignal.any([this.#options.signal, done.signal]);
    await Promise.all(
      stores.map(async (store) => {
        try {
          await this.#read(store, signal);
          if (this.isDone) done.abort();
        } catch (error) {
          if (!done.signal.aborted) this.#problems.add(`${store.name}: ${errorMessage(error)}`);
        }
      }),
    );
  }

  async #read(store: SignatureStore, signal: AbortSignal): Promise<void> {
    let read = 0;
    for await (const signature of store.signatures(this.#digest, signal)) {
      if (this.isDone || ++read > signatureLimits.perDigest) return;
      await this.#judge(signature, store.name);
    }
  }

  async #judge(signature: Uint8Array, store: string): Promise<void> {
    let isNeeded = false;
    for (const [name, keyring] of this.#missing) {
      const refusal = await this.#refusalOf(signature, keyring);
      if (refusal !== undefined) this.#problems.add(`${store}: ${name}: ${refusal}`);
      else isNeeded = this.#missing.delete(name) || isNeeded;
    }
    if (isNeeded) this.accepted.push(signature);
  }

  async #refusalOf(signature: Uint8Array, keyring: Keyring): Promise<string | undefined> {
    try {
      return refusalOfSignature(await keyring.open(signature, this.#options.now), this.#digest);
    } catch (error) {
      return errorMessage(error);
    }
  }

  failure(why?: string): ReleaseError {
    const problems = [...(why === undefined ? [] : [why]), ...this.#problems].slice(0, 10);
    const text = `unable to verify ${this.#digest} against keyrings: ${namesOf([...this.#missing.keys()].sort())}`;
    return unverified(problems.length === 0 ? text : `${text} (${problems.join('; ').slice(0, 2_000)})`);
  }
}

/** Content of a signature: it says that a digest is of an image of some name. Nothing else may be in it. */
const ContainerSignature = z.strictObject({
  critical: z.strictObject({
    type: z.literal('atomic container signature', { error: 'must be "atomic container signature"' }),
    image: z.strictObject({ 'docker-manifest-digest': z.string() }),
    identity: z.strictObject({ 'docker-reference': z.string().min(1, { error: 'is empty: the signature must say of which image it is' }) }),
  }),
  optional: z.strictObject({ creator: z.string().optional(), timestamp: z.number().optional() }).nullish(),
});

/**
 * Says why signed content does not vouch for a digest; undefined when it does. Pure.
 * @param content what was signed, as bytes of JSON
 */
function refusalOfSignature(content: Uint8Array, digest: string): string | undefined {
  let document: unknown;
  try {
    document = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(content));
  } catch {
    return 'the signed content is not JSON';
  }
  const parsed = ContainerSignature.safeParse(document);
  if (!parsed.success) {
    const issue = parsed.error.issues[0];
    return `the signed content is no container signature: ${issue?.path.join('.') || 'the document'}: ${issue?.message ?? 'wrong type'}`;
  }
  const signed = parsed.data.critical.image['docker-manifest-digest'];
  return signed === digest ? undefined : `the signature is of ${signed.slice(0, 200)}, not of ${digest}`;
}

/** `algorithm:hash` as it may become part of a URL or of a file's name. */
const DIGEST = /^[a-z0-9]+(?:[.+_-][a-z0-9]+)*:[a-zA-Z0-9=_-]+$/;
/** No digest of today is longer than 140 characters. */
const MOST_CHARACTERS = 512;

/** The digest of a pull spec: what is behind its last `@`, else empty. */
export function digestOfPullSpec(pullSpec: string): string {
  const at = pullSpec.lastIndexOf('@');
  return at < 0 ? '' : pullSpec.slice(at + 1);
}

/** True for a digest whose signatures can be requested, by its length and characters. */
const isVerifiableDigest = (digest: string): boolean => digest.length <= MOST_CHARACTERS && DIGEST.test(digest);
