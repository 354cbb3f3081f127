from django.apps import AppConfig


class HolamemConfig(AppConfig):
    name = "holamem"
