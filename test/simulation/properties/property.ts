import type { StoredChange } from '../core/world.ts';

/** Something that must hold in every run. Each answer but undefined says how it does not. */
export interface Property {
  readonly name: string;
  /** The rule in a sentence. */
  readonly rule: string;
  /** After an event that changed the store. */
  look(changes: readonly StoredChange[]): string | undefined;
  /** Nothing is left to wait for; default true. */
  isOver?(): boolean;
  /** When everything is over, or should have been. */
  end?(): string | undefined;
  /** Some time after. */
  tidy?(): string | undefined;
  /** A time of rest begins. */
  rests?(): void;
  /** It has ended. */
  rest?(): string | undefined;
}
