// The timers are fake before anything of the mock is loaded.
import { vi } from "vitest";

vi.useFakeTimers();
