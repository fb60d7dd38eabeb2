export { type InboxPage, type InboxPageOptions, inboxPage } from "./page/inbox-page.ts";
