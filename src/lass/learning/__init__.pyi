from . import active as active
from . import clustering as clustering
from . import coverage as coverage
from . import predictors as predictors
from . import segmentation as segmentation
