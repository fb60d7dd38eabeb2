/** Whether a text shows nothing: white space, and characters without a width such as U+200B. */
export const isBlank = (text: string): boolean => /^[\s\p{Cc}\p{Cf}]*$/u.test(text);
