from . import active as active
from . import clustering as clustering
from . import predictors as predictors
from . import segmentation as segmentation
