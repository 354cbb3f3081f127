"""Django settings, read from the typed environment."""

from csp.constants import NONCE, NONE, SELF
from django.utils.translation import gettext_lazy as _

from holamem.database.config import database_settings
from holamem.environment import PROJECT_DIR, get_environment
from holamem.logs import logging_config

environment = get_environment()

SECRET_KEY = environment.secret_key.get_secret_value()
DEBUG = environment.debug
ALLOWED_HOSTS = environment.host_list
ROOT_URLCONF = "holamem.urls"
ASGI_APPLICATION = "holamem.asgi.application"
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

INSTALLED_APPS = [
    "holamem",
    "workspaces",
    "retrieval",
    "agents",
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "whitenoise.runserver_nostatic",
    "django.contrib.staticfiles",
    "django_q",
    "django_htmx",
    "csp",
    "rest_framework",
    "drf_spectacular",
    "drf_spectacular_sidecar",
]

MIDDLEWARE = [
    "holamem.http.request_id.RequestIdMiddleware",
    "holamem.http.metrics.MetricsMiddleware",
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "csp.middleware.CSPMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.locale.LocaleMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "workspaces.admin.middleware.AdminScopeMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
]

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [PROJECT_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.template.context_processors.i18n",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ]
        },
    }
]

DATABASES = {"default": database_settings(environment.database_url or "postgresql:///holamem")}
PREPARED_STATEMENTS = environment.prepared_statements

STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.InMemoryStorage"},
    "staticfiles": {"BACKEND": "whitenoise.storage.CompressedStaticFilesStorage"},
    "bodies": {
        "BACKEND": "workspaces.bodies.DurableFileStorage",
        "OPTIONS": {"location": environment.bodies_dir},
    },
}

AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator"},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
]
PASSWORD_HASHERS = ["django.contrib.auth.hashers.Argon2PasswordHasher"]
LOGIN_URL = "/login/"
LOGIN_REDIRECT_URL = "/"
LOGOUT_REDIRECT_URL = "/login/"

LANGUAGE_CODE = "en"
LANGUAGES = [("en", _("English")), ("zh-hans", _("Simplified Chinese"))]
LOCALE_PATHS = [PROJECT_DIR / "holamem" / "locale"]
TIME_ZONE = "UTC"
USE_TZ = True

STATIC_URL = "/static/"
STATIC_ROOT = environment.data_dir / "static"
STATICFILES_DIRS = [PROJECT_DIR / "holamem" / "static"]
WHITENOISE_USE_FINDERS = True

MAX_BODY_BYTES = 8 * 1024 * 1024
DATA_UPLOAD_MAX_MEMORY_SIZE = MAX_BODY_BYTES

REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": [
        "workspaces.api.authentication.ApiKeyAuthentication",
    ],
    "DEFAULT_PERMISSION_CLASSES": ["workspaces.api.permissions.HasKeyPermission"],
    "DEFAULT_PARSER_CLASSES": ["holamem.http.parsers.StrictJSONParser"],
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "DEFAULT_SCHEMA_CLASS": "drf_spectacular.openapi.AutoSchema",
    "EXCEPTION_HANDLER": "holamem.http.problems.problem_response",
    "UNAUTHENTICATED_USER": None,
}
SPECTACULAR_SETTINGS = {
    "TITLE": "holamem",
    "DESCRIPTION": "Long-term memory for AI agents that people can look into.",
    "VERSION": "1",
    "OAS_VERSION": "3.1.1",
    # Choices stay where they are used: the hook would give shared ones names made of digits.
    "POSTPROCESSING_HOOKS": ["holamem.http.openapi.without_marks"],
    "ENUM_GENERATE_CHOICE_DESCRIPTION": False,
    "SERVE_INCLUDE_SCHEMA": False,
    "SCHEMA_PATH_PREFIX": "/api/v1",
    "SWAGGER_UI_DIST": "SIDECAR",
    "SWAGGER_UI_FAVICON_HREF": "SIDECAR",
    "SERVE_PERMISSIONS": ["rest_framework.permissions.AllowAny"],
    "SERVE_AUTHENTICATION": [],
}

# Redelivery counts from the dequeue, so `retry` must exceed timeout x (queue_limit / workers + 1).
Q_CLUSTER = {
    "name": "holamem",
    "orm": "default",
    "workers": environment.workers,
    "timeout": 600,
    "queue_limit": environment.workers,
    "retry": 1400,
    "max_attempts": 1,
    "ack_failures": True,
    "save_limit": -1,
    "poll": 0.2,
    "catch_up": False,
    "label": "Queue",
}

CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": [NONE],
        "script-src": [SELF, NONCE],
        "style-src": [SELF],
        "img-src": [SELF, "data:"],
        "font-src": [SELF],
        "connect-src": [SELF],
        "base-uri": [NONE],
        "object-src": [NONE],
        "form-action": [SELF],
        "frame-ancestors": [NONE],
    }
}
SECURE_CONTENT_TYPE_NOSNIFF = True
SECURE_REFERRER_POLICY = "same-origin"
X_FRAME_OPTIONS = "DENY"
SESSION_COOKIE_HTTPONLY = True
SESSION_COOKIE_AGE = 7 * 24 * 3600
SESSION_COOKIE_SECURE = environment.https
CSRF_COOKIE_SECURE = environment.https
if environment.https:  # a browser takes such a name from this very host only, and over https
    SESSION_COOKIE_NAME = "__Host-sessionid"
    CSRF_COOKIE_NAME = "__Host-csrftoken"
SECURE_SSL_REDIRECT = environment.https
SECURE_HSTS_SECONDS = 365 * 24 * 3600 if environment.https else 0
SECURE_HSTS_INCLUDE_SUBDOMAINS = environment.https
SECURE_HSTS_PRELOAD = environment.https
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https") if environment.https else None

LOGGING = logging_config(environment.log_level)
