using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [
    (name = "main", worker = .worker),
    (name = "internet", network = (allow = ["public", "private"])),
  ],
  sockets = [(name = "http", http = (), service = "main")],
);
const worker :Workerd.Worker = (
  modules = [(name = "worker", esModule = embed "bundle.mjs")],
  compatibilityDate = "2025-06-01",
  compatibilityFlags = ["nodejs_compat"],
  bindings = [
    (name = "WORKSPACE_TASKS_BASE_URL", fromEnvironment = "WORKSPACE_TASKS_BASE_URL"),
    (name = "WORKSPACE_TASKS_GATEWAY_URL", fromEnvironment = "WORKSPACE_TASKS_GATEWAY_URL"),
    (name = "WORKSPACE_TASKS_API_KEY", fromEnvironment = "WORKSPACE_TASKS_API_KEY"),
    (name = "WORKSPACE_TASKS_PARTNER_API_KEY", fromEnvironment = "WORKSPACE_TASKS_PARTNER_API_KEY"),
  ],
);
