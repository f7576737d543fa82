/** The digest of a plan, by which an upgrade is bound to what somebody has approved. Pure. */
import { Annotation } from '@flotilla/api';
import { type ClusterGroupUpgrade, type ClusterGroupUpgradeSpec, cutAtWord, explain, type PrecachingSpec } from '@flotilla/api/ran';
import type { PolicyExamination } from './policies/policies.ts';
import type { Validation } from './validation/validation.ts';
import { digestOf } from './values/json-value.ts';

/** The parts that a digest tells apart, in its order, each with what a sentence calls it. */
const PARTS = { batches: 'the batches', images: 'the images to pre-cache', changes: 'what the policies or templates change' } as const;
type Part = keyof typeof PARTS;
const parts: readonly Part[] = ['batches', 'images', 'changes'];

const FORM = /^plan1(?:-[0-9a-f]{16}){3}$/;

/** Parts of a plan that its digest is made of. */
interface Planned {
  readonly batches: readonly (readonly string[])[];
  readonly precaching: { readonly spec?: PrecachingSpec } | undefined;
  readonly policies: Pick<PolicyExamination, 'forUpgrade'>;
}

/**
 * `plan1-` and three times 16 hexadecimal digits: of batches, images, and content of policies or templates. The digest of one part says that it
 * differs without the plan itself being kept.
 */
export function planDigest(
  { batches, precaching, policies }: Planned,
  { manifestWorkTemplates = [] }: Pick<ClusterGroupUpgradeSpec, 'manifestWorkTemplates'>,
  template: (name: string) => { readonly spec?: unknown } | undefined,
): string {
  const content: Record<Part, unknown> = {
    batches,
    images: precaching?.spec ?? {},
    changes: [
      policies.forUpgrade.map(({ name, namespace, objects }) => [namespace, name, objects]),
      manifestWorkTemplates.map((name) => [name, template(name)?.spec]),
    ],
  };
  return ['plan1', ...parts.map((part) => digestOf(content[part]))].join('-');
}

/** The refusal of an upgrade that is bound to another plan. @param digestNow makes the digest of what it would do now, and is asked only where it is bound */
export function findOtherPlan({ metadata }: Pick<ClusterGroupUpgrade, 'metadata'>, digestNow: () => string): Validation | undefined {
  const bound = metadata.annotations?.[Annotation.plan]?.trim();
  const digest = bound === undefined ? undefined : digestNow();
  if (bound === undefined || digest === undefined || bound === digest) return undefined;
  return { status: 'False', reason: 'PlanDiffers', message: explain('PlanDiffers', describe(bound, digest)) };
}

function describe(bound: string, digest: string): string {
  if (!FORM.test(bound)) return `Annotation ${Annotation.plan} is ${JSON.stringify(cutAtWord(bound))}, which is no digest of a plan`;
  const [before, now] = [bound.split('-').slice(1), digest.split('-').slice(1)];
  const changed = parts.filter((_, index) => before[index] !== now[index]).map((part) => PARTS[part]);
  return `The upgrade differs from the plan that was saved: ${changed.join(', ')}; its digest is ${digest} now`;
}
