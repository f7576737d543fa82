import { config } from 'zod';

// Schemas try to make code when they are declared, which the content policy refuses and reports: this comes before the first of them.
config({ jitless: true });
