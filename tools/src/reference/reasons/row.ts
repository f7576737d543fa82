/** A reason in the reference: its meaning, and the next step where there is one. */
export type ReasonRow = readonly [meaning: string, fix?: string];
export type ReasonRows = Readonly<Record<string, ReasonRow>>;
