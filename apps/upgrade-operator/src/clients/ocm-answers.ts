import { z } from 'zod';

/** A cluster as OCM knows it, as far as an upgrade needs it. */
export const OcmCluster = z.looseObject({
  id: z.string().default(''),
  version: z.looseObject({ channel_group: z.string().default('') }).prefault({}),
  node_drain_grace_period: z.looseObject({ value: z.number().default(0), unit: z.string().default('') }).prefault({}),
});
export type OcmCluster = z.output<typeof OcmCluster>;

/** An upgrade policy. */
export const OcmPolicy = z.looseObject({
  id: z.string(),
  version: z.string().default(''),
  next_run: z.string().default(''),
  /** Absent means yes. */
  capacity_reservation: z.boolean().default(true),
});
export type OcmPolicy = z.output<typeof OcmPolicy>;

/** What has become of a policy. */
export const OcmPolicyState = z.looseObject({ value: z.string(), description: z.string().default('') });
export type OcmPolicyState = z.output<typeof OcmPolicyState>;

/** A page of a list. */
export const pageOf = <T extends z.ZodType>(item: T) =>
  z.looseObject({
    total: z.int().nonnegative(),
    items: z
      .array(item)
      .nullish()
      .transform((items) => items ?? []),
  });

/** What OCM says when it refuses. */
export const OcmRefusal = z.looseObject({
  id: z.string().default(''),
  code: z.string().default(''),
  reason: z.string().default(''),
  operation_id: z.string().default(''),
});

/** A line in the cluster's history that its owner reads (spec/muo 8.4). */
export interface ServiceLog {
  readonly summary: string;
  readonly description: string;
  readonly docReferences?: readonly string[];
}

/** A service log that was posted. */
export const OcmServiceLog = z.looseObject({ summary: z.string().default(''), description: z.string().default('') });
